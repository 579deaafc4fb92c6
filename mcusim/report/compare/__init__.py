"""Several runs next to each other: table, page, pairs of policies and fidelities, ablations."""
