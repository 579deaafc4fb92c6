"""An operator as the bytes its compiled function takes."""
