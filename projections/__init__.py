"""The read models: folds of the log, as of any moment. Knows nothing of actors, models or Ray."""
