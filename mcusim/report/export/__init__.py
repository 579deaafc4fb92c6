"""Runs as files for other tools: Perfetto traces, value change dumps, callgrind profiles."""
