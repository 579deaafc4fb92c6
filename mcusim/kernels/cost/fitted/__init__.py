"""Cost profiles fitted to emulated runs of a kernel set: loop nests with a cost for each level."""
