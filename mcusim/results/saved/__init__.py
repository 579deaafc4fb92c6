"""Runs as their JSON has them: read, compared operator by operator, held against limits."""
