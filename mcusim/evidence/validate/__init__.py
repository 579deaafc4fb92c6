"""Runs beside published numbers; ledger."""
