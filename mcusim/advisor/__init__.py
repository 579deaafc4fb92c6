"""The best use of a board for a model: a search over plans, by replay, whose finalists are emulated."""
