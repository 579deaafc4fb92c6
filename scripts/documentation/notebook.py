"""The tutorial as a notebook: prose and code as cells, without outputs, the same bytes every time."""

from __future__ import annotations

import json
import re

_CODE = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n.*?^```\n)?", re.DOTALL | re.MULTILINE)


def notebook(text: str) -> str:
    """The Jupyter notebook (format 4.5) of a page's prose and Python blocks."""
    cells = []
    parts = _CODE.split(text)  # prose and code in turns
    for i, part in enumerate(parts):
        source = part.strip("\n")
        if source:
            cells.append(_cell(len(cells), "code" if i % 2 else "markdown", source))
    meta = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    book = {"cells": cells, "metadata": meta, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(book, indent=1, ensure_ascii=False) + "\n"


def _cell(number: int, kind: str, source: str) -> dict[str, object]:
    code = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": source.splitlines(True), **code}
