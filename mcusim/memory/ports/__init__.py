"""Who accesses: replay streams, the emulated core's data and code, their line fills and maintenance."""
