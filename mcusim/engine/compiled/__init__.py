"""A program compiled to tables, and the engine that plays them natively, as the one in SimPy does."""
