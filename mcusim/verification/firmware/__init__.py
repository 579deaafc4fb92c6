"""A firmware's run under observation: stale bytes, transfers used before their end, races with handlers."""
