"""Caches: tags, the bytes of the lines, and the sanitizer's shadow of who wrote each byte."""
