"""How far to believe a result: published measurements, validation, calibration."""
