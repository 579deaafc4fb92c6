"""What of a replay's accesses gets past the data cache: recorded once, played on devices of other timing."""
