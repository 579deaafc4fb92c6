"""Put a set, or part of it, at an address."""
