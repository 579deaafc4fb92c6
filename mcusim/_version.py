"""The version of this package, as ``mcusim --version`` prints it."""

__version__ = "0.1.0"
