"""Ports into the memory system: replay streams, the emulated core's data and code, cache maintenance."""
