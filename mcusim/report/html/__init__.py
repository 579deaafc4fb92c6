"""Results as HTML pages: one file each that loads nothing from elsewhere."""
