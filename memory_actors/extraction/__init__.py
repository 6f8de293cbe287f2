"""Reading facts in what people say: the port, the known slots, and patterns for English."""

from memory_actors.extraction.port import Extractor, PatternExtractor

__all__ = ["Extractor", "PatternExtractor"]
