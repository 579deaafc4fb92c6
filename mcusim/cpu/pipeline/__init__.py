"""Pipeline timing of each core: static per basic block, and what depends on the run."""
