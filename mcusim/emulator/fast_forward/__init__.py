"""Programs that wait: rounds of a loop that repeat exactly are counted, not run."""
