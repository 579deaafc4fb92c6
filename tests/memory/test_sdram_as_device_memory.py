"""SDRAM at 0xC000_0000, Device memory by the default map of a Cortex-M7, against 0x6000_0000, write-back."""

from __future__ import annotations

from mcusim import simulate
from mcusim.machine import load_machine

BOARD = "stm32f746g-disco"
AS_DEVICE = {"memory.sdram.base": "0xC0000000"}  # the attribute follows the address


def test_an_unaligned_load_from_device_memory_faults_as_on_the_board() -> None:
    """Three input channels: a kernel's word loads are not aligned."""
    fault = simulate("cifar10-arm", BOARD, "external", fidelity="emulate", overrides=AS_DEVICE).fault
    assert fault is not None and (fault.operator, fault.kind) == (0, "unaligned access")
    assert "the address is Device memory" in fault.text and fault.address is not None and fault.address >> 28 == 0xC
    normal = {**AS_DEVICE, "memory.sdram.attribute": "uncached"}  # as an MPU region makes it
    assert simulate("cifar10-arm", BOARD, "external", fidelity="emulate", overrides=normal).fault is None


def test_device_memory_is_never_in_the_cache() -> None:
    cached, device = (
        simulate("ds-cnn", BOARD, "external", fidelity="emulate", overrides=overrides).run
        for overrides in (None, AS_DEVICE)
    )
    assert device.counters["dcache_writebacks"] < cached.counters["dcache_writebacks"]
    assert device.by_cause["sdram"] > 2 * cached.by_cause["sdram"]
    assert device.traffic["sdram"].core_read != cached.traffic["sdram"].core_read


def test_the_default_map_says_which_is_which() -> None:
    from mcusim.machine.schema import _attribute

    bases = (0x2000_0000, 0x4000_0000, 0x6000_0000, 0x8000_0000, 0xA000_0000, 0xC000_0000)
    kinds = ["write-back", "device", "write-back", "write-through", "device", "device"]
    assert [_attribute({"device": "sdram", "base": base}) for base in bases] == kinds  # type: ignore[arg-type]
    assert load_machine("stm32f469i-disco").memory["sdram"].attribute == "device"
