"""ELF, symbols, DWARF."""
