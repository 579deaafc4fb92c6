"""Register blocks outside the core: data files by part family, one small file for each block with behaviour."""
