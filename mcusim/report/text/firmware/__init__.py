"""What a firmware did to its machine, as text."""
