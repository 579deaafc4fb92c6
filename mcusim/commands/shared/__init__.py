"""Options, output files, progress and exports that commands share."""
