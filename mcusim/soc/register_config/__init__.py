"""What firmware sets up: its writes to the registers of clocks and memories, as figures of a machine file."""
