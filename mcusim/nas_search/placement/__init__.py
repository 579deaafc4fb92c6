"""Networks joined of parts and placed, natively."""
