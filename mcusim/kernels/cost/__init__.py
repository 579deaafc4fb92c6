"""Cost profiles that replay plays."""
