"""What scripts/docs does: runs what the pages show, writes the generated ones, builds the site and checks it."""

from pathlib import Path

__all__ = ["PAGES", "TOP"]

TOP = Path(__file__).resolve().parents[2]
PAGES = TOP / "docs" / "pages"
