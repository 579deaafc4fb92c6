"""What a run is asked for: settings, kernels, inputs; parsed once."""
