"""Which tensors live when."""
