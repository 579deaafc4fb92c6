"""Published measurements, which of them belong to a run, and where a measurement of it is to be expected."""
