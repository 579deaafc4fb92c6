"""One machine's memory system: native state, devices, counters."""
