"""One GPIO port: BSRR and BRR change ODR; an output's pin reads back in IDR, an input reads its pull resistor.

ST RM0090 chapter 8. Not modelled: what is wired to a pin (an input without a pull-up reads 0), open drain, alternate
functions, the lock.
"""

from __future__ import annotations

from mcusim.soc.register_block import RegisterBlock

OUTPUT, PULL_UP = 1, 1
PINS = 16


class Gpio(RegisterBlock):
    """``MODER`` and ``PUPDR`` have two bits for each pin."""

    def on_read(self, register: str, word: int) -> int:
        if register != "IDR":
            return word
        modes, pulls, output = self["MODER"], self["PUPDR"], self["ODR"]
        levels = 0
        for pin in range(PINS):
            mode, pull = modes >> 2 * pin & 3, pulls >> 2 * pin & 3
            levels |= (output >> pin & 1 if mode == OUTPUT else int(pull == PULL_UP)) << pin
        return levels

    def on_write(self, register: str, value: int, old: int) -> None:
        if register == "BSRR":
            self["ODR"] = self["ODR"] & ~(value >> 16) & 0xFFFF | value & 0xFFFF
        if register == "BRR":
            self["ODR"] = self["ODR"] & ~value & 0xFFFF
