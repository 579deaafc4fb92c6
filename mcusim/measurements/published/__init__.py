"""Published measurements and the run that reproduces each of them."""
