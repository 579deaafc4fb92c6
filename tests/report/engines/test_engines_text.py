"""Inference engines side by side as text and as a page."""

from __future__ import annotations

from dataclasses import replace

import mcusim
from mcusim.report.engines.page import engines_page
from mcusim.report.engines.table import engines_table


def test_what_is_said_first_and_why_engines_do_not_run() -> None:
    choice = mcusim.engines("mcunet-vww1", ["stm32f746g-disco", "nucleo-g474re"])
    text, page = engines_table(choice), engines_page(choice)
    assert "  fastest: ST 10.0.0 (an estimate), 76" in text and "compiled (1.29 times, " in text
    assert "  no engine runs it" in text and "no verdict on what" in page
    assert text.count("needs 525,072 B") == 1 == page.count("needs 525,072 B")  # the reason of two
    assert max(map(len, text.splitlines())) <= 80 and "  kernels by  " in text
    (board, _), wide = choice.boards, (123_456 * 1024, 234_567 * 1024)
    rows = tuple(replace(row, ram=row.ram and wide, flash=row.flash and wide) for row in board.rows)
    narrow = engines_table(replace(choice, boards=(replace(board, rows=rows),)))
    assert max(map(len, narrow.splitlines())) <= 80 and "  kernels by  " not in narrow and "123456-234567" in narrow
    assert page.count("kernels tinyengine-mit: MIT") == 1 and "\nkernels: reference-gcc12, " in text
    assert page.count("<h2>nucleo-g474re</h2>") == 1 and "Latency" in page.partition("<h2>nucleo-g474re</h2>")[0]
    assert "Latency" not in page.partition("<h2>nucleo-g474re</h2>")[2].partition("<script")[0]
