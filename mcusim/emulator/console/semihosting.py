"""Arm semihosting: what BKPT 0xAB asks of the host. Input, output, command line, exit codes; no files are opened.

Operation numbers and structures: Arm, "Semihosting for AArch32 and AArch64", 2.0. ``:semihosting-features`` says that
SYS_EXIT_EXTENDED is there (newlib hands over the status of ``exit`` only then) and that ``:tt`` can be opened to append
for standard error (without that newlib opens no standard output either); both streams are one here. Not modelled: files
(an open of anything else fails), where heap and stack are (SYS_HEAPINFO answers four zeroes, for unknown).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

OPEN, CLOSE, WRITEC, WRITE0, WRITE, READ, READC = 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07
ISTTY, SEEK, FLEN, CLOCK, TIME, ERRNO, CMDLINE, HEAPINFO = 0x09, 0x0A, 0x0C, 0x10, 0x11, 0x13, 0x15, 0x16
EXIT, EXIT_EXTENDED, ELAPSED, TICKFREQ = 0x18, 0x20, 0x30, 0x31
APPLICATION_EXIT = 0x20026
LONGEST = 1 << 16  # bytes of one write
PIECE = 64  # of a text, which no memory's end divides
FAILED = 0xFFFF_FFFF
CONSOLE, FEATURES = 1, 2  # handles
FEATURES_NAME, FEATURES_DATA = b":semihosting-features", b"SHFB\x03"  # SYS_EXIT_EXTENDED; ``:tt`` to append is stderr


class _Host(Protocol):
    def read(self, address: int, size: int) -> bytes: ...
    def write(self, address: int, data: bytes) -> None: ...
    @property
    def cycles(self) -> int: ...


class Semihosting:
    """Answers calls; ``output`` gets what the program writes. ``status`` is set once it exits.

    ``stdin`` is what its standard input has; ``command_line``, None for none, what SYS_GET_CMDLINE answers.
    """

    def __init__(self, host: _Host, clock: int, output: Callable[[bytes], object]) -> None:
        self._host, self._clock, self._output = host, clock, output
        self.status: int | None = None
        self.stdin = b""
        self.command_line: bytes | None = None
        self._taken = 0  # of the input
        self._position = 0  # in the features

    def call(self, operation: int, parameter: int) -> int | None:
        """Carry out one call and return r0, or None for an operation that is not known."""
        if operation == WRITEC:
            self._output(self._host.read(parameter, 1))
            return operation
        if operation == WRITE0:
            self._output(self._text(parameter))
            return operation
        if operation in (EXIT, EXIT_EXTENDED):
            return self._exit(operation, parameter)
        if operation in (WRITE, OPEN, READ, SEEK, FLEN, CLOSE, ISTTY):
            return self._file(operation, parameter)
        if operation == CMDLINE:
            return self._command_line(parameter)
        if operation == READC:
            return (self._input(1) or b"\xff")[0]
        if operation == HEAPINFO:
            self._host.write(self._words(parameter, 1)[0], bytes(16))
            return 0
        if operation == ELAPSED:
            self._host.write(parameter, self._host.cycles.to_bytes(8, "little"))
            return 0
        hundredths = self._host.cycles * 100 // self._clock
        answers = {CLOCK: hundredths, TIME: hundredths // 100, TICKFREQ: self._clock, ERRNO: 0}
        return answers.get(operation)

    def _words(self, address: int, count: int) -> list[int]:
        data = self._host.read(address, 4 * count)
        return [int.from_bytes(data[i : i + 4], "little") for i in range(0, 4 * count, 4)]

    def _text(self, address: int) -> bytes:
        result = bytearray()
        while len(result) < LONGEST:
            at = address + len(result)
            part, end, _ = self._host.read(at, PIECE - at % PIECE).partition(b"\0")
            result += part
            if end:
                break
        return bytes(result)

    def _exit(self, operation: int, parameter: int) -> int:
        if operation == EXIT_EXTENDED:
            reason, code = self._words(parameter, 2)
        else:
            reason, code = parameter, 0
        self.status = code & 0xFF if reason == APPLICATION_EXIT else 1
        return 0

    def _file(self, operation: int, parameter: int) -> int:
        if operation == OPEN:
            return self._open(parameter)
        if operation == WRITE:
            _, data, size = self._words(parameter, 3)
            taken = min(size, LONGEST)
            self._output(self._host.read(data, taken))
            return size - taken
        if operation == READ:
            return self._read(parameter)
        features = self._words(parameter, 1)[0] == FEATURES
        if operation == SEEK and features:
            self._position = self._words(parameter, 2)[1]
        if operation == FLEN and features:
            return len(FEATURES_DATA)
        return int(operation == ISTTY and not features)

    def _open(self, parameter: int) -> int:
        address, _, size = self._words(parameter, 3)
        name = self._host.read(address, min(size, len(FEATURES_NAME)))
        if name == FEATURES_NAME:
            self._position = 0
            return FEATURES
        return CONSOLE if name[:3] == b":tt" else FAILED

    def _read(self, parameter: int) -> int:
        """Bytes that are not there to read."""
        handle, address, size = self._words(parameter, 3)
        if handle != FEATURES:
            part = self._input(size)
        else:
            part = FEATURES_DATA[self._position : self._position + size]
            self._position += len(part)
        self._host.write(address, part)
        return size - len(part)

    def _input(self, most: int) -> bytes:
        """The next bytes of the input, none beyond the end of a line, as a terminal gives them."""
        end = self.stdin.find(b"\n", self._taken) + 1 or len(self.stdin)
        part = self.stdin[self._taken : min(end, self._taken + most)]
        self._taken += len(part)
        return part

    def _command_line(self, parameter: int) -> int:
        address, size = self._words(parameter, 2)
        text = self.command_line
        if text is None or len(text) >= size:
            self._host.write(parameter + 4, bytes(4))
            return FAILED
        self._host.write(address, text + b"\0")
        self._host.write(parameter + 4, len(text).to_bytes(4, "little"))
        return 0
