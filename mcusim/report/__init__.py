"""Results as text, JSON, HTML pages and files for other tools."""
