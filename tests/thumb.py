"""Thumb-2 by its text: the bytes in ``thumb_code`` were made with arm-none-eabi-as 2.40 -mcpu=cortex-m7."""

from thumb_code import CODE

from mcusim.cpu.decode import Decoder
from mcusim.cpu.instruction import Instruction

DECODER = Decoder()


def block(text: str, address: int = 0x0800_0000) -> list[Instruction]:
    """The instructions of ``text``, parted by semicolons, as they are decoded from their bytes."""
    return DECODER.decode(bytes.fromhex("".join(CODE[line.strip()] for line in text.split(";"))), address)
