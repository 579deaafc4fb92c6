"""A sweep: its table, its page and the figures of that."""
