"""Commands for compiled code: emulate an ELF file, build and inspect kernel sets."""
