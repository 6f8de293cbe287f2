"""The write model: what happened, and the log that keeps it. Knows nothing of projections, actors or Ray."""
