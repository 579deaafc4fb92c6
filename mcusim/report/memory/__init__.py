"""A memory plan: its table, page and JSON."""
