"""The configuration of a run: settings, kernels and input tensors, checked and resolved once."""
