"""Commands that simulate networks: run, plan, replay, compare, sweep."""
