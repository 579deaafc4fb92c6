"""The tests; the folders follow those of the package, helpers are in ``support``."""
