"""Watchdogs: they reset a part whose program does not refresh them in time."""
