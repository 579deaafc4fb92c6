"""Run, plan, replay, compare, sweep."""
