"""Fits figures of a machine to measurements and reports how well they are determined."""
