"""System registers of the core: the private peripheral bus, the MPU, memory attributes, register names."""
