"""Inference engines side by side: table and page."""
