"""How reliable a result is: validation against published measurements, calibration."""
