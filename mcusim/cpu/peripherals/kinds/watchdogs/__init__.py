"""Watchdogs: a program that does not refresh them in time is ended by their name."""
