"""The request for a run: settings, kernels and input tensors, checked and resolved once."""
