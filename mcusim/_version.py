"""The version of this package, as ``mcusim --version`` prints it."""

__version__ = "0.2.0"
