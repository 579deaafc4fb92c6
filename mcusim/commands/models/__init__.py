"""Inspect, export, reorder and plan the memory of models."""
