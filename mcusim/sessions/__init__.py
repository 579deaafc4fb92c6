"""Device sessions: modules that are loaded into an emulated core's memory, linked there, and called."""
