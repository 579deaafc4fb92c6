"""Results of a firmware alone: its run over time, the stacks of its tasks."""
