"""Scores the pattern extractor on labelled sentences: `python tests/unit/extraction_score.py [dev|heldout] [-v]`."""

import sys
from collections.abc import Iterable
from datetime import UTC, datetime

import extraction_heldout
import extraction_sentences

from memory_actors.extraction.patterns import extract

SAID = datetime(2026, 5, 20, 12, tzinfo=UTC)
SAID_AT = int(SAID.timestamp()) * 1_000_000
MARKS = {"assert": "", "end": "-", "retract": "!"}


def labels(text: str) -> set[str]:
    """What is extracted, in the notation of the labelled sets; letter case aside."""
    found = extract(text, subject="user", occurred_at=SAID_AT)
    return {f"{MARKS[one.act]}{one.key}={one.value}".casefold() for one in found}


def score(sentences: Iterable[tuple[str, tuple[str, ...]]]) -> tuple[float, float, list[str]]:
    """Precision and recall over all labels (a label is right in key, value and act), and a line per mistake."""
    right = wrong = missed = 0
    mistakes = []
    for text, expected in sentences:
        wanted, found = {one.casefold() for one in expected}, labels(text)
        right, wrong, missed = right + len(wanted & found), wrong + len(found - wanted), missed + len(wanted - found)
        if wanted != found:
            mistakes.append(f"{text!r}: wrong {sorted(found - wanted)}, missed {sorted(wanted - found)}")
    return right / max(1, right + wrong), right / max(1, right + missed), mistakes


def main() -> None:
    """Print both scores."""
    for name, chosen in (("dev", extraction_sentences), ("heldout", extraction_heldout)):
        if len(sys.argv) > 1 and sys.argv[1] not in (name, "-v"):
            continue
        precision, recall, mistakes = score(chosen.SENTENCES)
        print(f"{name}: precision {precision:.3f} recall {recall:.3f} over {len(chosen.SENTENCES)} sentences")
        if "-v" in sys.argv:
            print("\n".join(mistakes))


if __name__ == "__main__":
    main()
