"""What --json writes."""
