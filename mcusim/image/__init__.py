"""Program images: ELF files with their symbols and DWARF source lines, Intel HEX, S-records, plain bytes."""
