"""Intel HEX and S-records: what is read from them, and what is wrong with damaged ones, by line."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mcusim.errors import ImageError
from mcusim.image import hex_records as records
from mcusim.image.hex_records import Records, read_hex, read_s_records
from tests.support.images.record_writer import END, Pieces, hex_lines, hex_record, s_lines, s_record, text

PIECES = [(0x0800_FFF8, bytes(range(40))), (0x9000_0000, b"\xff" * 3), (0xFFFF_FFFF, b"\x01")]


@pytest.mark.parametrize(("read", "lines"), [(read_hex, hex_lines), (read_s_records, s_lines)])
def test_bytes_and_entry_come_back(
    read: Callable[[bytes, str], Records], lines: Callable[[Pieces, int], list[str]]
) -> None:
    found = read(text(lines(PIECES, 0x0800_0041)), "a")
    assert found.runs("a") == PIECES and found.entry == 0x0800_0041


def test_records_in_any_order_and_case_are_joined() -> None:
    lines = [hex_record(0, 16, b"b"), "", hex_record(0, 15, b"a").lower(), hex_record(0, 17, b"c"), END]
    assert read_hex(text(lines), "a").runs("a") == [(15, b"abc")]


def test_segments_of_16_bytes_shift_data_and_start() -> None:
    """Type 02 and 03, which objcopy writes for addresses below 1 MiB."""
    lines = [hex_record(2, 0, b"\xf0\x00"), hex_record(0, 0x10, b"a"), hex_record(3, 0, b"\xf0\x00\x00\x11"), END]
    found = read_hex(text(lines), "a")
    assert found.runs("a") == [(0xF_0010, b"a")] and found.entry == 0xF_0011


def test_a_start_address_of_zero_in_s_records_is_none() -> None:
    lines = [s_record(1, 0x10, b"a"), s_record(2, 0x11, b"b"), s_record(6, 2), s_record(9, 0)]
    found = read_s_records(text(lines), "a")
    assert found.entry is None and found.runs("a") == [(0x10, b"ab")]


DATA = hex_record(0, 0, b"abcd")
S_DATA, S_END = s_record(1, 0, b"abcd"), s_record(9, 0)


@pytest.mark.parametrize(
    ("lines", "where", "what"),
    [
        ([DATA], "a", "truncated: line 1 is the last, and no end-of-file record"),
        ([DATA[:-4], END], "a:1", "announces 4 B of data and has 2"),
        ([":0000", END], "a:1", "the shortest has 5"),
        ([DATA[:-2] + "00", END], "a:1", "checksum 00, it should be 72"),
        ([DATA[:-1], END], "a:1", "not an even number of hexadecimal digits"),
        ([DATA, "", "0" + DATA[1:], END], "a:3", "a record begins with a colon"),
        ([DATA, END, DATA], "a:3", "a line behind the end-of-file record"),
        ([hex_record(6, 0), END], "a:1", "a record of type 06"),
        ([hex_record(4, 0, b"\x08"), END], "a:1", "type 04 has 2 B of data, here are 1"),
        ([hex_record(2, 0, b"\x10\x00"), hex_record(0, 0xFFFE, b"abc"), END], "a:2", "past the end of their 64 KiB"),
        ([hex_record(4, 0, b"\xff\xff"), hex_record(0, 0xFFFE, b"abc"), END], "a:2", "past the 32-bit address space"),
        ([hex_record(0, 8, b"x"), DATA, DATA, END], "a:3", "0x0000_0000 is there twice: among the records from line 2"),
        ([":" + "0" * 1_000_000], "a:1", "announces 0 B of data"),
        ([END], "a", "has no data records"),
    ],
)
def test_what_is_wrong_with_a_hex_file_is_said_with_its_line(lines: list[str], where: str, what: str) -> None:
    with pytest.raises(ImageError) as caught:
        read_hex(text(lines), "a").runs("a")
    assert str(caught.value).startswith(f"{where}: ") and what in str(caught.value) and len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("lines", "where", "what"),
    [
        ([S_DATA], "a", "no S7, S8 or S9 record has come"),
        ([S_DATA[:-4], S_END], "a:1", "announces 7 B and has 5"),
        (["S1", S_END], "a:1", "an S1 record of 0 B, it has at least 4"),
        ([S_DATA[:-2] + "00", S_END], "a:1", "checksum 00, it should be 6E"),
        ([S_DATA, "S4030000FC", S_END], "a:2", "no known type"),
        ([S_DATA, "X", S_END], "a:2", "begins with S"),
        ([S_DATA, s_record(5, 2), S_END], "a:2", "counts 2 data records, 1 have come"),
        ([S_DATA, S_END, S_DATA], "a:3", "a line behind the S7, S8 or S9 record"),
    ],
)
def test_what_is_wrong_with_s_records_is_said_with_their_line(lines: list[str], where: str, what: str) -> None:
    with pytest.raises(ImageError) as caught:
        read_s_records(text(lines), "a").runs("a")
    assert str(caught.value).startswith(f"{where}: ") and what in str(caught.value)


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ("MOST_LINES", "a: more than 8 lines"),
        ("MOST_PIECES", "a:9: more than 8 jumps between addresses"),
        ("MOST_RUNS", "a: 9 separate ranges of addresses, at most 8 are read"),
    ],
)
def test_lines_and_ranges_are_limited(limit: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [*(hex_record(0, 32 * n, b"a") for n in range(9)), END]
    assert len(read_hex(text(lines), "a").runs("a")) == 9
    monkeypatch.setattr(records, limit, 8)
    with pytest.raises(ImageError) as caught:
        read_hex(text(lines), "a").runs("a")
    assert str(caught.value).startswith(message)
