"""Blocks of a page: which are run, what they print, what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.documentation import Block, PageError, rewrite, run_page, stray_fences

SUM = "```python\nx = 1\n```\n\n```python\nprint(x + 1)\n```\n\n```text\n{}\n```\n\n```text\nprose\n```\n"


def test_a_stale_output_is_renewed_and_other_text_is_kept() -> None:
    assert run_page("page.md", SUM.format(3)) == SUM.format(2)
    assert run_page("page.md", SUM.format(2)) == SUM.format(2)


def test_an_output_is_added_below_python_and_only_renewed_below_commands() -> None:
    assert run_page("page.md", "```python\nprint(5)\n```\n") == "```python\nprint(5)\n```\n\n```text\n5\n```\n"
    shown = "```sh\nmcusim --version\n```\n"
    assert run_page("page.md", shown) == shown
    assert "mcusim 0." in run_page("page.md", f"{shown}\n```text\n```\n")


def test_blocks_share_a_folder_and_files_come_from_titles() -> None:
    page = (
        '```toml title="my.toml"\nextends = "stm32f746g-disco"\nname = "my"\n```\n\n'
        "```sh\nmcusim machines my.toml > figures.txt\n```\n\n"
        "```python\nfrom pathlib import Path\n\nprint(Path('figures.txt').read_text().split(':')[0])\n```\n"
    )
    assert run_page("page.md", page).endswith("```text\nmy\n```\n")
    assert not Path("my.toml").exists()


def test_a_marked_block_is_kept_as_it_is() -> None:
    page = "<!-- not run: needs a board -->\n```sh\nflash --now\n```\n\n```text\nas typed\n```\n"
    seen: list[Block] = []
    assert rewrite(page, seen.append) == page  # type: ignore[func-returns-value]
    assert [(block.reason, block.line) for block in seen] == [("needs a board", 2)]
    assert run_page("page.md", page) == page


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("```python\nprint(nothing)\n```\n", r"page.md:1: .*\n.*NameError"),
        ("text\n\n```sh\nls -l\n```\n", "page.md:3: 'ls -l' is not a command of mcusim"),
        ("```sh\nmcusim machines none\n```\n", "page.md:1: mcusim machines none: exit status 2: error: .*none"),
        ("```sh\nmcusim machines # exit status 2: why\n```\n", "mcusim machines .*: exit status 0"),
        ("```python\nimport sys\nsys.exit(3)\n```\n", "SystemExit: 3"),
        ("- item\n\n  ```sh\n  mcusim\n  ```\n", "page.md:3: a fence has to start in the first column"),
    ],
    ids=["exception", "no command of ours", "exit status", "expected status", "exit", "indented"],
)
def test_what_cannot_be_run_is_an_error_with_page_and_line(page: str, message: str) -> None:
    with pytest.raises(PageError, match=f"(?s){message}"):
        run_page("page.md", page)


def test_an_expected_status_is_no_error_and_its_message_is_shown() -> None:
    page = "```sh\nmcusim machines none  # exit status 2: no such board\n```\n\n```text\n```\n"
    assert "```text\nerror: " in run_page("page.md", page)


def test_fences_in_the_first_column_are_not_stray() -> None:
    assert stray_fences("```sh\n```\n\n    ```\n") == [4]
