"""Static and dynamic timing of each core."""
