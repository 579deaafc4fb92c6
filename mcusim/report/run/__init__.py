"""One run: its table, page and JSON keys, the verdict, advice and figures of it."""
