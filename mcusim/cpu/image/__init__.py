"""Program images: ELF files, their symbols and the source lines of DWARF."""
