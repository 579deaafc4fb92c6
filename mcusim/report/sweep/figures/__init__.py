"""Plots of sweeps: effects of inputs, heat maps, Pareto front, parallel coordinates, tables."""
