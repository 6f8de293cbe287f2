"""The port of extractors: whatever reads candidates in a turn, by patterns, a model or a callable."""

from typing import Protocol

from events.candidates import Candidate


class Extractor(Protocol):
    """Reads what a speaker says about themselves. `name` is recorded with every fact, and changes with the rules."""

    @property
    def name(self) -> str:
        """Which extractor, and which version of it."""
        ...

    def extract(self, text: str, *, subject: str, occurred_at: int, previous: str | None = None) -> list[Candidate]:
        """The candidates of one turn; see `patterns.extract` for the arguments."""
        ...


class PatternExtractor:
    """Patterns for English; pure and offline."""

    name = "patterns-1"

    def extract(self, text: str, *, subject: str, occurred_at: int, previous: str | None = None) -> list[Candidate]:
        """As `patterns.extract`."""
        from memory_actors.extraction.patterns import extract  # noqa: PLC0415 - its patterns take 0.1 s to compile; reads need none

        return extract(text, subject=subject, occurred_at=occurred_at, previous=previous)
