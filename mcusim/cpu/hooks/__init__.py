"""Native hooks that Unicorn calls for blocks and accesses, and the tables that they share."""
