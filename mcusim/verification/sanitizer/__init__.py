"""The sanitizer: observes a run byte by byte and explains each violation as a finding."""
