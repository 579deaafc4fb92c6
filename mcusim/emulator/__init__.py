"""The emulator: an emulated core that runs program images, stops where it ends or faults, and records what it did."""
