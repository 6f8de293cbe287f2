"""The bundled conversation: one person and her assistant, February to October 2026, and what is worth asking of it.

Maya moves (Porto, then Lisbon), changes her job (Portway, then Marola Energy) and her diet (vegetarian, then fish
again); her allergy and her wish for metric units stay. A surprise party is told in confidence and later withdrawn. A
friend in Berlin, a nurse with an offer from Munich and some ifs are there to be told apart from her. All invented.
"""

from pathlib import Path

import msgspec

USER = "maya"
CONVERSATION = Path(__file__).with_name("conversation.jsonl")
"""96 turns in 8 sessions, JSON Lines as `ingest` reads them; every turn has a time and an id."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A question to ask of Maya's memory, as of a date (None: now), and what the answer should show."""

    query: str
    as_of: str | None
    shows: str


QUESTIONS = (
    Question(query="Where shall we eat tonight?", as_of=None, shows="Lisbon, fish again, no hazelnuts, quiet places"),
    Question(query="Where shall we eat tonight?", as_of="2026-03-31", shows="Porto, vegetarian, no hazelnuts"),
    Question(query="Where does Maya work?", as_of=None, shows="Marola Energy, data platform engineer"),
    Question(query="Where does Maya work?", as_of="2026-05-31", shows="Portway, backend engineer"),
    Question(query="Which database did we decide on?", as_of=None, shows="TimescaleDB for turbine readings"),
    Question(query="Which database did we decide on?", as_of="2026-04-01", shows="PostgreSQL for the shipment tracker"),
)
"""In pairs: the same question now and as of an earlier date, answered differently. The first pair is the demo's."""

CHANGES = ("2026-04-30", "2026-10-31")
"""Two dates between which Maya moved, changed her job and ate fish again: what `diff` shows."""

WITHDRAWN = "the surprise party"
"""What Maya asked to forget: the text for `forget`, after which no recall brings it up."""
