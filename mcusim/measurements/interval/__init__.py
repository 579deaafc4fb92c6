"""Prediction intervals: where a measurement of a run is to be expected, from the errors of published measurements."""
