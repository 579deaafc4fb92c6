"""Profiles fitted to emulated runs."""
