"""Is a program right: proof, sanitizer, equivalence, fuzzing."""
