"""Controllers of the part's own flash: keys, programming, erasing, option bytes; one file for each generation."""
