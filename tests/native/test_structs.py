"""Structs: a layout without holes, the same to Python and to native code, and wrong declarations that are named."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import pytest

from mcusim.memory.state_layout import MemoryState, RegionState
from mcusim.native.compile import native
from mcusim.native.structs import STRUCTS, Struct, Structs, Words, offset_of, words_between


class Bank(Struct):
    row: int
    activated: int


class Device(Struct):
    busy: int
    columns: Annotated[Words, 5]
    banks: Annotated[Structs[Bank], 4]
    spare: Bank


class System(Struct, root=True):
    now: int
    devices: Annotated[Structs[Device], 3]
    rest: Annotated[Words, 0]


DEVICE = Device.WORDS


def work(system: System, device: Device, index: int) -> int:
    """Every kind of field, read and written."""
    bank = device.banks[index]
    bank.row, bank.activated = index + 7, bank.activated + system.now
    device.columns[index] += bank.row
    device.spare.row = device.columns[index] * 2
    device.busy -= 1
    behind = Device(device, DEVICE)
    behind.busy = Words(system, 1)[0]
    system.rest[1] = words_between(system, behind)
    system.now += device.spare.row
    return bank.activated


@native
def native_work(system: System, device: Device, index: int) -> int:
    """:func:`work` in native code."""
    bank = device.banks[index]
    bank.row, bank.activated = index + 7, bank.activated + system.now
    device.columns[index] += bank.row
    device.spare.row = device.columns[index] * 2
    device.busy -= 1
    behind = Device(device, DEVICE)
    behind.busy = Words(system, 1)[0]
    system.rest[1] = words_between(system, behind)
    system.now += device.spare.row
    return bank.activated


@pytest.mark.parametrize("kind", STRUCTS, ids=lambda kind: kind.__name__)
def test_fields_lie_one_behind_another(kind: type[Struct]) -> None:
    words = [slot.offset + n for slot in kind.FIELDS.values() for n in range(slot.words)]
    assert words == list(range(kind.WORDS))


def test_python_and_native_code_see_the_same() -> None:
    arrays = [np.arange(100, 200, dtype=np.int64) for _ in range(2)]
    for device, index in ((0, 3), (1, 0), (1, 3)):
        ours, native_ones = (System(array) for array in arrays)
        called: Any = native_work  # Python hands a root over as its array
        assert work(ours, ours.devices[device], index) == called(arrays[1], native_ones.devices[device], index)
    assert (arrays[0] == arrays[1]).all() and (arrays[0] != np.arange(100, 200)).sum() > 10
    with pytest.raises(AttributeError, match="array"):
        called(arrays[1], 3, 0)
    assert offset_of(Device.banks) == 6 and offset_of(System.rest) == 1 + 3 * DEVICE
    assert MemoryState.ROOT and not RegionState.ROOT


def test_wrong_declarations_are_named() -> None:
    with pytest.raises(TypeError, match=r"Wrong\.few has -1 elements: must be a whole number, at least 0"):
        type("Wrong", (Struct,), {"__annotations__": {"few": Annotated[Words, -1]}})
    with pytest.raises(TypeError, match=r"Wrong\.text: a field is an int, Words, or a struct that was declared before"):
        type("Wrong", (Struct,), {"__annotations__": {"text": str}})
    with pytest.raises(TypeError, match=r"Wrong\.list: an array is Annotated\[Words, n\]"):
        type("Wrong", (Struct,), {"__annotations__": {"list": Annotated[int, 3]}})
    with pytest.raises(AttributeError, match="banks is no word"):
        System(np.zeros(99, np.int64)).devices[0].banks = 3  # type: ignore[assignment]
