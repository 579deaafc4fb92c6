"""Native functions Unicorn calls."""
