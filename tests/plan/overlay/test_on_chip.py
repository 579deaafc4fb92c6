"""What stays on chip under tinyops: no more than there is, and said of a run that has it."""

from __future__ import annotations

import pytest

import mcusim
from mcusim.errors import UsageError


def test_more_than_the_memory_has_is_an_error() -> None:
    with pytest.raises(UsageError, match=r"--on-chip 1,048,576 B is more than there is in .*: 327,680 B"):
        mcusim.simulate("ds-cnn", "stm32f746g-disco", "tinyops", on_chip="1 MiB")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"on_chip": "8 KiB"}, "8,192 B of structures and activations on chip"),
        ({"row_tiles": "0:3"}, "rows of tiles by operator"),
        ({"uncopied": "1:input"}, "operands in place by operator"),
        ({"channel_tiles": "0:2"}, "parts of channels by operator"),
    ],
)
def test_an_interval_names_what_no_published_run_had(options: dict[str, str], words: str) -> None:
    result = mcusim.simulate("ds-cnn", "stm32f746g-disco", "tinyops", **options)  # type: ignore[arg-type]
    assert result.interval is not None and words in result.interval.not_measured
