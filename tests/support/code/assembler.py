"""Thumb-2 by its text: the bytes in ``thumb_code`` were made with arm-none-eabi-as 2.40 -mcpu=cortex-m7."""

from mcusim.cpu.decode.decoder import Decoder
from mcusim.cpu.decode.instruction import Instruction
from tests.support.code.thumb_code import CODE

DECODER = Decoder()


def block(text: str, address: int = 0x0800_0000) -> list[Instruction]:
    """The instructions of ``text``, parted by semicolons, as they are decoded from their bytes."""
    return DECODER.decode(bytes.fromhex("".join(CODE[line.strip()] for line in text.split(";"))), address)
