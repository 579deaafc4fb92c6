"""An emulated program: its table, page and JSON, what it set up, its events and stacks."""
