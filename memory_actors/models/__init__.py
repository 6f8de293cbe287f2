"""The models behind ports: vectors, tokens, summaries."""
