"""Kernel calls: an operator as the structure in memory that its compiled function takes."""
