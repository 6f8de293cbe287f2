"""The write model: what a writer knows of a stream, and what it decides. Pure; nothing ambient, no files, no Ray."""
