"""Published numbers and which run is which."""
