"""How reliable a result is: published measurements, validation against them, calibration."""
