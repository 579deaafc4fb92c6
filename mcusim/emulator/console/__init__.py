"""What a program says to its host and asks of it: semihosting."""
