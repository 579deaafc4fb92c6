"""What measurements say of a run: published figures of it, and where one of it is expected."""
