"""Commands that check programs and the simulator itself: verify, validate, calibrate."""
