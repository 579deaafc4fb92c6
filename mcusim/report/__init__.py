"""Results for people and tools."""
