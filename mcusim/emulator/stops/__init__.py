"""How a run ends and where it is held: stops and their reasons, stop points, sleep."""
