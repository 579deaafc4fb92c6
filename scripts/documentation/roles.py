"""A hook of MkDocs: cross-references of docstrings (:class:`~mcusim.errors.InputError`) as links, or as plain code."""

from __future__ import annotations

import re
from typing import Any

_ROLE = re.compile(r":(?:attr|class|data|exc|func|meth|mod):<code>~?([\w.]+)</code>")


def on_page_content(html: str, **_: Any) -> str:
    """The page with each role as the last part of its name, a link where the page has it."""

    def shown(found: re.Match[str]) -> str:
        code = f"<code>{found[1].rpartition('.')[2]}</code>"
        return f'<a href="#{found[1]}">{code}</a>' if f'id="{found[1]}"' in html else code

    return _ROLE.sub(shown, html)
