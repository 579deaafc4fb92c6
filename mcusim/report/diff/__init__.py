"""Two runs and what changed between them: table and page."""
