"""Machine figures fitted to measurements."""
