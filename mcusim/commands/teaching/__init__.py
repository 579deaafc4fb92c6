"""Labs."""
