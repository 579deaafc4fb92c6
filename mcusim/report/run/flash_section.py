"""What flash keeps, as a table of a page."""

from __future__ import annotations

from mcusim.report.html.page import bullets, plain, table
from mcusim.results.flash import FlashUse


def flash_section(flash: FlashUse) -> str:
    """Each part with its bytes, region, basis and source; then each region with its size and whether the parts fit."""
    rows = [
        [plain(part.name), plain(part.region or "-"), part.basis, plain(part.source), f"{part.bytes:,} B"]
        for part in flash.parts
    ]
    rows += [
        [
            "<b>together</b>",
            plain(region),
            "fits" if used <= flash.sizes[region] else "<b>does not fit</b>",
            f"{used / flash.sizes[region]:.1%} of {flash.sizes[region]:,} B" if flash.sizes[region] else "-",
            f"<b>{used:,} B</b>",
        ]
        for region, used in flash.used.items()
    ]
    left_out = bullets([f"Not counted: {plain(text)}" for text in flash.uncounted]) if flash.uncounted else ""
    return f"<h2>Flash</h2>{table(['part', 'region', 'basis', 'from', 'bytes'], rows, left=4)}{left_out}"
