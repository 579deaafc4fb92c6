"""Labs: guided exercises in the terminal and as notebooks."""
