"""Every kernel set behind the flash accelerator of the STM32F469: what the prefetch and the wait states cost it."""

from __future__ import annotations

import pytest

import mcusim
from mcusim.kernels.kernel_set import set_names
from mcusim.machine import load_machine
from tests.support.cases import few


@few(1)
@pytest.mark.parametrize("kernels", set_names())
def test_kernels_from_flash_run_as_without_wait_states_and_no_slower_with_the_prefetch(kernels: str) -> None:
    """Buffers are in SRAM (policy tinyops), so that code alone is read from flash: within 4 %, and 1 %."""
    cycles = []
    for key, value in (("accelerator.prefetch", "true"), ("accelerator.prefetch", "false"), ("wait_states", "0")):
        machine = load_machine("stm32f469i-disco", {f"memory.flash.{key}": value})
        result = mcusim.simulate("figure-1", machine, policy="tinyops", kernels=kernels, fidelity="emulate")
        assert result.run is not None
        cycles.append(result.run.cycles)
    on, off, ideal = cycles
    assert on <= off * 1.01
    assert ideal < on <= ideal * 1.04
