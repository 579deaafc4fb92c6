"""What the advisor says, as text."""
