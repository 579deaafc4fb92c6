"""Where the blocks of each part family are, and their registers, as TOML."""
