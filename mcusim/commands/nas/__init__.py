"""Search for networks: statistics of spaces, a search, fronts on several boards."""
