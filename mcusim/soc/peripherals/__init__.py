"""One file for each kind of register block that has a behaviour of its own."""
