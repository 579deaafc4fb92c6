"""The package behind scripts/docs, which is not installed."""

from __future__ import annotations

import sys

from tests.support.paths import REPOSITORY

if str(REPOSITORY / "scripts") not in sys.path:
    sys.path.append(str(REPOSITORY / "scripts"))

from documentation import PAGES, TOP
from documentation.blocks import Block, rewrite, stray_fences
from documentation.notebook import notebook
from documentation.session import PageError, run_page
from documentation.site import missing_links, named_files, wrong_links

__all__ = [
    "PAGES",
    "TOP",
    "Block",
    "PageError",
    "missing_links",
    "named_files",
    "notebook",
    "rewrite",
    "run_page",
    "stray_fences",
    "wrong_links",
]
