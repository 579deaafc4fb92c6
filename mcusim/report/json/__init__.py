"""Results as JSON: what ``--json`` writes."""
