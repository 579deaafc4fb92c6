"""A film of a memory system: what caches, rows and transfers did in a window of time, event by event."""
