"""Vendors' closed engines: what is published of networks on them, and what that says of another network."""
