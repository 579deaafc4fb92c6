"""Verification of programs: static proof, sanitizer, equivalence of outputs, fuzzing of timing."""
