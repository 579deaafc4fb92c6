"""The file format: read, write, offline plan."""
