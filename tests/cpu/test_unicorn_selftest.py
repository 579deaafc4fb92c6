"""The start-up self-test finds Unicorn's flag by what it does, and does not believe an offset that does not work."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import pytest

from mcusim.cpu import unicorn_core
from mcusim.cpu import unicorn_selftest as selftest
from tests.support.code import random_thumb as guest


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    selftest.skip_flag_offset.cache_clear()
    yield
    selftest.skip_flag_offset.cache_clear()


def test_the_flag_is_found_and_needed() -> None:
    offset = selftest.skip_flag_offset()
    assert offset is not None
    assert selftest.survives(offset)
    assert not selftest.survives(None)  # the bug that the flag is for: this Unicorn has it


def test_a_byte_that_is_not_the_flag_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    offset = selftest.skip_flag_offset()
    assert offset is not None
    others = [found for found in selftest._candidates() if found != offset]
    monkeypatch.setattr(selftest, "_candidates", lambda: others)
    selftest.skip_flag_offset.cache_clear()
    assert selftest.skip_flag_offset() is None
    monkeypatch.setattr(selftest, "_candidates", lambda: [offset + 1])  # padding: a byte that nothing looks at
    selftest.skip_flag_offset.cache_clear()
    assert selftest.skip_flag_offset() is None


def test_no_byte_behind_unicorns_state_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    room = ctypes.CDLL(None).malloc_usable_size
    room.restype, room.argtypes = ctypes.c_size_t, [ctypes.c_void_p]
    read, looked = ctypes.string_at, []

    def string_at(address: int, size: int) -> bytes:
        looked.append((size, room(address)))
        return read(address, size)

    monkeypatch.setattr(ctypes, "string_at", string_at)
    assert selftest.skip_flag_offset() is not None
    assert looked
    assert all(0 < size <= available for size, available in looked)


def test_without_the_flag_the_hooks_write_no_byte_of_unicorns_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selftest, "_candidates", list)
    assert selftest.skip_flag_offset() is None
    core = unicorn_core.UnicornCore(guest.MACHINES["cortex-m7"])
    assert core.hook.skip_flag == core._dummy.ctypes.data
