"""Who wrote each byte of a firmware's memory last, and which transfers it has not yet seen the end of."""
