"""What cache lines hold: tags, bytes, shadow (who wrote what)."""
