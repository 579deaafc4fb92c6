"""Compares runs with published measurements, and keeps the ledger of what is modelled."""
