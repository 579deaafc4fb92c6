"""Structs: a layout without holes, the same to Python and to native code, and wrong declarations that are named."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import pytest

from mcusim.memory.state_layout import MemoryState, RegionState
from mcusim.native.functions import native
from mcusim.native.structs import POINTER, STRUCTS, Struct, Structs, Words, address_of, offset_of, words_between


class Bank(Struct):
    row: int
    activated: int


class Device(Struct):
    busy: int
    columns: Annotated[Words, 5]
    banks: Annotated[Structs[Bank], 4]
    spare: Bank
    shared: Annotated[Bank, POINTER]
    counts: Annotated[Words, POINTER]


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
    if device.shared:
        device.shared.row += index
        device.counts[index] = (address_of(device.spare) - address_of(system)) // 8
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
    if device.shared:
        device.shared.row += index
        device.counts[index] = (address_of(device.spare) - address_of(system)) // 8
    return bank.activated


@pytest.mark.parametrize("kind", STRUCTS, ids=lambda kind: kind.__name__)
def test_fields_lie_one_behind_another(kind: type[Struct]) -> None:
    words = [slot.offset + n for slot in kind.FIELDS.values() for n in range(slot.words)]
    assert words == list(range(kind.WORDS))


def test_python_and_native_code_see_the_same() -> None:
    arrays, shared = ([np.arange(100, 200, dtype=np.int64) for _ in range(2)] for _ in range(2))
    for device, index in ((0, 3), (1, 0), (1, 3)):
        ours, native_ones = (System(array) for array in arrays)
        for system, others in zip((ours, native_ones), shared, strict=True):
            system.devices[0].shared, system.devices[0].counts = Bank(others, 1), Words(others, 3)
            system.devices[1].zero(Device.shared, Device.counts)
        called: Any = native_work  # Python hands a root over as its array
        assert work(ours, ours.devices[device], index) == called(arrays[1], native_ones.devices[device], index)
    for array in arrays:
        System(array).devices[0].zero(Device.shared, Device.counts)  # addresses
    assert (arrays[0] == arrays[1]).all() and (arrays[0] != np.arange(100, 200)).sum() > 10
    assert (shared[0] == shared[1]).all() and (shared[0] != np.arange(100, 200)).sum() == 2
    for wrong in (3, arrays[1], Bank(arrays[1])):
        with pytest.raises(TypeError, match=rf"{type(wrong).__name__} where Device is wanted"):
            called(arrays[1], wrong, 0)
    assert offset_of(Device.banks) == 6 and offset_of(System.rest) == 1 + 3 * DEVICE
    assert MemoryState.ROOT and not RegionState.ROOT


def test_wrong_declarations_are_named() -> None:
    with pytest.raises(TypeError, match=r"Wrong\.few has -1 elements: must be a whole number, at least 0"):
        type("Wrong", (Struct,), {"__annotations__": {"few": Annotated[Words, -1]}})
    with pytest.raises(TypeError, match=r"Wrong\.text: a field is an int, Words, or a struct that was declared before"):
        type("Wrong", (Struct,), {"__annotations__": {"text": str}})
    with pytest.raises(TypeError, match=r"Wrong\.list: an array is Annotated\[Words, n\]"):
        type("Wrong", (Struct,), {"__annotations__": {"list": Annotated[int, 3]}})
    with pytest.raises(TypeError, match=r"Wrong\.offset: every struct has an attribute of that name already"):
        type("Wrong", (Struct,), {"__annotations__": {"offset": int}})
    with pytest.raises(AttributeError, match="banks is no word"):
        System(np.zeros(99, np.int64)).devices[0].banks = 3  # type: ignore[assignment]


def test_a_table_has_the_fields_of_all() -> None:
    system = System(np.zeros(System.WORDS, np.int64))
    system.devices[2].banks[1].row = 7
    table = system.devices.table(3)
    table["busy"] = 5
    assert table["banks"]["row"].tolist() == [[0] * 4, [0] * 4, [0, 7, 0, 0]] and system.devices[1].busy == 5


def test_python_follows_a_pointer_to_what_it_holds() -> None:
    device, bank = Device(np.zeros(Device.WORDS, np.int64)), Bank(np.zeros(9, np.int64), 4)
    assert device.shared is None
    device.shared = bank
    device.shared.row = 3
    assert bank.row == 3
    del bank
    with pytest.raises(AttributeError, match=r"shared points at 0x[0-9a-f]+, where Python has nothing any more"):
        _ = device.shared.row
