"""Pages: one HTML file each, offline."""
