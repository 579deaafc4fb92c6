"""The ``.tflite`` file format: reader, writer and the memory plan that TFLM reads from a file."""
