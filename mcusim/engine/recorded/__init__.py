"""Programs recorded from a firmware's run: what the core did is known, and timed anew for another machine."""
