"""Background work: what a stream's raw turns mean. Stateless; what is due is a number in the log.

Takes the turns that have not been covered, in order; has them embedded as one batch, extracts facts, summarises closed
episodes, and makes one command of it all. Whatever fails becomes a command that says so; after `ATTEMPTS` a turn goes
on without the part that fails for it, and the failures stay in the log as its dead letters. Model calls live here, never in a UserActor.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec
import numpy as np

from events import ambient
from events.candidates import Candidate
from events.commands import PAST_TURNS, Command, Enrich, EpisodeWork, ReportFailure, TurnWork
from events.envelope import Vectors
from events.errors import MemoryActorsError
from events.policy import Policy
from memory_actors.actors.writer import Writer, acks
from memory_actors.extraction import Extractor
from memory_actors.models import summariser
from memory_actors.models.embedder import Embedder, embedded
from projections.episodes import EpisodeRow
from projections.index.embedding_text import PAST, Line, embedding_texts
from projections.transcript import TurnRow, Vector
from projections.view import StreamView

BATCH = 64
BATCH_BYTES = 1_000_000
"""Most content of the turns of one batch: what its vectors take grows with it."""
WORK_BYTES = 3_000_000
"""Most that one command carries of turns, and as much of episodes: with both it goes to its actor in one call. One may be larger."""
ATTEMPTS = 3
BACK_OFF_SECONDS = 0.2

Part = TypeVar("Part")
Embedded = tuple[Vectors, tuple[str, ...]]


class Enricher:
    """Makes the next piece of background work of a stream. `embedder` None: no vectors, so no topics."""

    def __init__(self, embedder: Embedder | None, extractor: Extractor, policy: Callable[[str], Policy]) -> None:
        self._embedder = embedder
        self._extractor = extractor
        self._policy = policy

    @property
    def embedder(self) -> Embedder | None:
        """What computes vectors."""
        return self._embedder

    @property
    def ready(self) -> bool:
        """Whether the model, if there is one, has been loaded."""
        return self._embedder is None or getattr(self._embedder, "loaded", True)

    @property
    def model(self) -> str:
        """The name of the embedder; empty for none."""
        return "" if self._embedder is None else self._embedder.model

    def next(self, view: StreamView) -> Command | None:
        """The next command for the stream, or None when nothing is due."""
        due = _Due(view, episodes=self._summarises(view))
        exhausted = due.failures >= ATTEMPTS
        if not due or (exhausted and not due.turns):
            return None
        turns = _first(due.turns[:BATCH], _content_bytes, BATCH_BYTES)
        try:
            works = _first(self.turn_works(turns, view), _work_bytes, WORK_BYTES)
            episodes = _first(self._episode_works(view, due.upto(len(works)), _fresh(works)), _work_bytes, WORK_BYTES)
        except MemoryActorsError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it was, it is recorded
            if not exhausted:
                return _failure(due, due.upto(len(turns)), error)
            works, episodes = _first((self._salvaged(turn, view) for turn in turns), _work_bytes, WORK_BYTES), []
        return _enrich(due, works, episodes)

    def _summarises(self, view: StreamView) -> bool:
        return self._policy(view.stream.space).episodes.enabled

    def _salvaged(self, turn: TurnRow, view: StreamView) -> TurnWork:
        """One turn without the parts that fail. That they have kept failing stands in the log."""
        past = view.turns.past(turn.seq, PAST_TURNS)
        [embedded] = _tried(lambda: self.embed([(turn, past)])) or [None]
        return _tried(lambda: self.work(turn, past, embedded)) or self._work(turn, (), embedded)

    def turn_works(self, turns: Sequence[TurnRow], view: StreamView) -> list[TurnWork]:
        """What each of these turns means, given those before it."""
        pasts = [view.turns.past(turn.seq, PAST_TURNS) for turn in turns]
        embedded = self.embed(list(zip(turns, pasts, strict=True)))
        return [self.work(turn, past, found) for turn, past, found in zip(turns, pasts, embedded, strict=True)]

    def work(self, turn: TurnRow, past: Sequence[TurnRow], embedded: Embedded | None) -> TurnWork:
        """One turn's work, its vectors computed before."""
        candidates: tuple[Candidate, ...] = ()
        if turn.role == "user":
            previous = past[-1].content if past else None
            found = self._extractor.extract(turn.content, subject=subject_of(turn), occurred_at=turn.occurred_at, previous=previous)
            candidates = tuple(found)
        return self._work(turn, candidates, embedded)

    def _work(self, turn: TurnRow, candidates: tuple[Candidate, ...], embedded: Embedded | None) -> TurnWork:
        vector, kinds = embedded or (None, ())
        return TurnWork(
            seq=turn.seq,
            candidates=candidates,
            extractor=self._extractor.name,
            vector=vector,
            kinds=kinds,
            with_past=(PAST,),
            model=self.model,
        )

    def embed(self, turns: Sequence[tuple[TurnRow, Sequence[TurnRow]]]) -> list[Embedded | None]:
        """The vectors of turns, each with its past, as one batch."""
        if self._embedder is None or not turns:
            return [None] * len(turns)
        count = self._embedder.count_tokens
        texts = [embedding_texts(_line(turn), [_line(one) for one in past], count) for turn, past in turns]
        vectors = embedded(self._embedder, [text for group in texts for _, text in group])
        ends = np.cumsum([len(group) for group in texts])
        return [(vectors[end - len(group) : end], tuple(kind for kind, _ in group)) for group, end in zip(texts, ends, strict=True)]

    def episode_works(self, view: StreamView, upto: int, fresh: Mapping[int, Vector]) -> list[EpisodeWork]:
        """Summaries of the episodes that have none and were closed by event `upto`. `fresh`: vectors not in the log yet."""
        return list(self._episode_works(view, upto, fresh))

    def _episode_works(self, view: StreamView, upto: int, fresh: Mapping[int, Vector]) -> Iterator[EpisodeWork]:
        if self._summarises(view):
            yield from (self._summary(row, view, fresh) for row in due_episodes(view) if int(row.id[1:]) <= upto)

    def _summary(self, row: EpisodeRow, view: StreamView, fresh: Mapping[int, Vector]) -> EpisodeWork:
        seq = len(view.recorded_at)
        turns = [view.turns.get(turn) for turn in row.turns if not view.turns.withdrawn(turn, seq)]
        vectors = [fresh.get(turn.seq, view.turns.vector(turn.seq)) for turn in turns]
        policy = self._policy(view.stream.space)
        summary = summariser.summarise(turns, _matrix(vectors), policy.episodes)
        vector = None if self._embedder is None else embedded(self._embedder, [f"{summary.title}\n{summary.text}"])
        return EpisodeWork(
            episode=row.id,
            title=summary.title,
            summary=summary.text,
            topics=summary.topics,
            model=summariser.MODEL,
            embedder=self.model,
            vector=vector,
            policy=policy.hash,
        )


class _Due:
    """What background work has not covered yet."""

    def __init__(self, view: StreamView, *, episodes: bool) -> None:
        self.basis_seq = len(view.recorded_at)
        self.start = view.enriched_upto(self.basis_seq) + 1
        self.turns = view.turns.after(self.start - 1, self.basis_seq)
        self.failures = view.failures
        self._episodes = episodes and bool(due_episodes(view))

    def __bool__(self) -> bool:
        return bool(self.turns) or self._episodes

    def upto(self, taken: int) -> int:
        """How far work reaches that takes so many of the turns: to the end with all."""
        return self.basis_seq if taken == len(self.turns) else self.turns[taken - 1].seq


def is_due(view: StreamView, policy: Policy) -> bool:
    """Whether there is anything to do for the stream."""
    return bool(_Due(view, episodes=policy.episodes.enabled))


def _tried(part: Callable[[], Part]) -> Part | None:
    """A part of the work, or None where it fails once more: that stands in the log already."""
    try:
        return part()
    except MemoryActorsError:
        raise
    except Exception:  # noqa: BLE001
        return None


def back_off(failure: ReportFailure) -> float:
    """Seconds to wait before what failed is tried again: what is down for a moment should not cost a turn its vectors."""
    return BACK_OFF_SECONDS * 2.0 ** (failure.attempt - 1)


def work_off(
    view: Callable[[], StreamView],
    enricher: Enricher,
    writer: Writer,
    done: Callable[[Command], None] = lambda _: None,
    *,
    backfill: bool = False,
) -> None:
    """Do all that is due for the stream of a view, here and now, and tell of each piece. Raises what keeps it from being done.

    Ends, too, when a command leaves no event and nobody else has written: it would be made again for ever.
    """
    seen = view()
    while (command := enricher.next(seen)) is not None:
        before = len(seen.recorded_at)
        acks(writer.execute(seen.stream, [msgspec.structs.replace(command, backfill=backfill)]))
        seen = view()
        if len(seen.recorded_at) == before:
            return
        if isinstance(command, ReportFailure):
            ambient.pause(back_off(command))
        done(command)


def _enrich(due: _Due, works: Sequence[TurnWork], episodes: Sequence[EpisodeWork]) -> Enrich:
    upto = due.upto(len(works))
    return Enrich(id=ambient.new_id(), start=due.start, upto=upto, basis_seq=due.basis_seq, turns=tuple(works), episodes=tuple(episodes))


def _failure(due: _Due, upto: int, error: Exception) -> ReportFailure:
    said = f"{type(error).__name__}: {error}".encode(errors="backslashreplace").decode()[:500]
    return ReportFailure(id=ambient.new_id(), start=due.start, upto=upto, stage="enrich", error=said, attempt=due.failures + 1)


def due_episodes(view: StreamView) -> list[EpisodeRow]:
    """Closed episodes without a summary that still have a turn."""
    seq = len(view.recorded_at)
    rows = (row for row in view.episodes.view(seq) if not row.summarised_seq)
    return [row for row in rows if any(not view.turns.withdrawn(turn, seq) for turn in row.turns)]


def _first(parts: Iterable[Part], size: Callable[[Part], int], room: int) -> list[Part]:
    """The first of them that have room together; one in any case, if there is one. No more are made than are looked at."""
    taken: list[Part] = []
    for part in parts:
        room -= size(part)
        if taken and room < 0:
            break
        taken.append(part)
    return taken


def _content_bytes(turn: TurnRow) -> int:
    return len(turn.content.encode())


def _work_bytes(work: TurnWork | EpisodeWork) -> int:
    """About what it takes in a command."""
    rest = len(msgspec.msgpack.encode(msgspec.structs.replace(work, vector=None)))
    return rest if work.vector is None else rest + work.vector.nbytes


def _fresh(works: Sequence[TurnWork]) -> dict[int, Vector]:
    return {work.seq: work.vector[0] for work in works if work.vector is not None}


def _matrix(vectors: Sequence[Vector | None]) -> Vectors | None:
    """Vectors [n, d] when all are there and alike."""
    known = [vector for vector in vectors if vector is not None]
    return np.stack(known) if len(known) == len(vectors) and len({len(vector) for vector in known}) == 1 else None


def subject_of(turn: TurnRow) -> str:
    """Whose facts a user turn states: the speaker's where one is named, else the stream's user."""
    return turn.speaker or "user"


def _line(turn: TurnRow) -> Line:
    return Line(turn.speaker or turn.role, turn.content, turn.occurred_at)
