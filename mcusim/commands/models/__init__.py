"""Commands for models: inspect, export, reorder, plan their memory."""
