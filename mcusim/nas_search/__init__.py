"""Which search space and which network for a board: TinyNAS with the planner's own memory rules."""
