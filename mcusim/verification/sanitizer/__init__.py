"""What a watched run says."""
