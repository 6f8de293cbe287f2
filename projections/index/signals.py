"""What speaks for a turn as the answer to a question: signals of about 0 to 1, as of one moment.

Every signal is computed from the turns visible at the moment alone, elementwise, or with sums that are exact or in a fixed
order: it equals to the bit what an index gives that was fed nothing later. A signal that has nothing to say abstains.

| signal | what it is |
|---|---|
| dense | cosine of the turn's best vector |
| near | the best of these of the turn and the two after it, which are embedded with it as their past |
| sitting_dense | the best of these in the turn's sitting |
| bm25 | BM25 of the turn, in parts of the best candidate's |
| window | BM25 of the turn with two neighbours on each side, in parts of the best candidate's |
| coverage | idf-weighted share of the question's terms found in the turn or a neighbour |
| sitting | BM25 of the turn's sitting among sittings, in tenths |
| reply, reply_dense | the turn before asks, and by this much (`bm25`, `dense`) about the same; where `speaker` speaks, only its turns |
| speaker | said by the one whom the question names; by the user, where it names nobody and says "I" |
| length, speaker_length | logarithm of the words, 1 from 40 on; the same where `speaker` is 1 |
| when, number, which | a time, number or name is asked for, and the turn has one |
| time, name | the turn has one, whatever is asked for |
| asks | the turn ends by asking, and no time is asked for; less the longer it is, for then it says something too |
| date | nearness to a time that the question names: 1 inside, halved every week away |
| recency | halved every `HALF_LIFE_DAYS` before now |

Marks of a long turn count in parts of 40 words: it has a number or a name somewhere without being about one.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from projections.index.asked import Asked
from projections.index.cues import NAME, NUMBER, QUESTION, TIME
from projections.index.dates import DAY, Span
from projections.index.lexical import LexicalView, Occurrences, inverse_document_frequency, saturated
from projections.index.turns import TurnView, is_among

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

SIGNALS: Final = (
    "dense", "near", "sitting_dense", "bm25", "window", "coverage", "sitting", "reply", "reply_dense", "speaker",
    "length", "speaker_length", "when", "number", "which", "time", "name", "asks", "date", "recency",
)  # fmt: skip

HALF_LIFE_DAYS = 30.0
DATE_HALF_LIFE_DAYS = 7.0
FULL_LENGTH = 40
"""Words from which on a turn counts as long."""

USER = frozenset({"user"})
"""The role that "I" stands for in a question."""

WINDOW_TURNS = 5


@dataclass(frozen=True, eq=False)
class Moment:
    """All that the signals are computed from, but for the question's vector."""

    turns: TurnView
    lexical: LexicalView
    asked: Asked
    spans: tuple[Span, ...]
    now: int


def plain_signals(moment: Moment) -> dict[str, Floats]:
    """The signals that need no vector and do not abstain, float64 [n] each, for the n turns that have entered (withdrawn too)."""
    who = _who(moment)
    found = _lexical(moment) | who | _cues(moment, who["length"]) | _times(moment)
    if "bm25" in found:
        found["reply"] = _answers(moment, found) * _gather(found["bm25"], moment.turns.columns["previous"])
    return found


def dense_signals(moment: Moment, plain: Mapping[str, Floats], cosines: Floats) -> dict[str, Floats]:
    """The signals of the question's vector, given the others. `cosines` [n] have NaN for turns without a vector."""
    dense, turns = _filled(cosines, moment.turns.alive), moment.turns
    living = dense if turns.alive.all() else np.where(turns.alive, dense, -1.0)
    padded = np.append(living, -1.0)
    near = np.maximum(padded[turns.following], padded[turns.after_next])
    sitting = turns.columns["sitting"]
    best = np.full(turns.sittings, -1.0)
    np.maximum.at(best, sitting, living)
    return {
        "dense": dense,
        "near": np.maximum(living, near),
        "sitting_dense": best[sitting],
        "reply_dense": _answers(moment, plain) * _gather(dense, turns.columns["previous"]),
    }


def _filled(cosines: Floats, alive: npt.NDArray[np.bool_]) -> Floats:
    """The cosines, with their mean for a turn not yet embedded: it is neither near nor far."""
    missing = np.isnan(cosines)
    if not missing.any():
        return cosines
    known = cosines[alive & ~missing].tolist()
    return np.where(missing, math.fsum(known) / max(len(known), 1), cosines)


def _answers(moment: Moment, found: Mapping[str, Floats]) -> Floats:
    """1 where the turn before asks; 0 where `speaker` speaks and the turn is not its."""
    turns = moment.turns
    asks = turns.alive & ((turns.columns["marks"] & QUESTION) > 0)
    answers = _gather(asks.astype(np.float64), turns.columns["previous"])
    return answers * found["speaker"] if "speaker" in found else answers


def _gather(values: Floats, ordinals: Ints, nobody: float = 0.0) -> Floats:
    """`values` at each of the ordinals; `nobody` at NOBODY, which is -1 and so the place after the last."""
    return np.append(values, nobody)[ordinals]


class _Touched(NamedTuple):
    """The u turns that hold a term or have a neighbour that does: the only ones with a lexical signal.

    `counts` is float64 [terms, u + 1], its last column 0 and standing for all others; `near` are the columns of the four
    neighbours, int64 [u] each; `lengths` and `window_lengths` [u] belong to them.
    """

    ordinals: Ints
    counts: Floats
    near: tuple[Ints, ...]
    lengths: Floats
    window_lengths: Floats


def _touched(moment: Moment, found: list[Occurrences]) -> _Touched:
    turns, n = moment.turns, len(moment.turns)
    flags = np.zeros(n + 1, np.bool_)
    for each in found:
        flags[each.ordinals] = True
    for neighbours in turns.neighbours(np.flatnonzero(flags)):
        flags[neighbours] = True
    ordinals = np.flatnonzero(flags[:n])
    places = np.full(n + 1, len(ordinals))
    places[ordinals] = np.arange(len(ordinals))
    counts = np.zeros((len(found), len(ordinals) + 1))
    for row, each in enumerate(found):
        counts[row, places[each.ordinals]] = each.counts
    around = turns.neighbours(ordinals)
    lengths = moment.lexical.lengths
    window_lengths = lengths[ordinals] + sum(_gather(lengths, neighbours) for neighbours in around)
    return _Touched(ordinals, counts, tuple(places[neighbours] for neighbours in around), lengths[ordinals], window_lengths)


def _lexical(moment: Moment) -> dict[str, Floats]:
    found = [moment.lexical.occurrences(term) for term in moment.asked.terms]
    touched = _touched(moment, found)
    if not len(touched.ordinals):
        return {}
    one_before, two_before, one_after, two_after = (np.take(touched.counts, places, axis=1) for places in touched.near)
    own = touched.counts[:, :-1]
    window = own + one_before + two_before + one_after + two_after
    idfs, mean_length = moment.asked.idfs, moment.lexical.mean_length
    signal = {
        "bm25": _weighed(idfs, saturated(own, touched.lengths, mean_length)),
        "window": _weighed(idfs, saturated(window, touched.window_lengths, WINDOW_TURNS * mean_length)),
        "coverage": _weighed(idfs, (window - two_after > 0).astype(np.float64)) / math.fsum(idfs),
    }
    return {name: _scattered(values, touched.ordinals, len(moment.turns)) for name, values in signal.items()} | {
        "sitting": _sitting(moment, found)
    }


def _weighed(idfs: tuple[float, ...], rows: Floats) -> Floats:
    """The rows times their idfs, summed in the order of the terms."""
    total = np.zeros(rows.shape[1])
    for idf, row in zip(idfs, rows, strict=True):
        total += idf * row
    return total


def _scattered(values: Floats, ordinals: Ints, n: int) -> Floats:
    everywhere = np.zeros(n)
    everywhere[ordinals] = values
    return everywhere


def _sitting(moment: Moment, found: list[Occurrences]) -> Floats:
    """BM25 of sittings as documents: made of the turns of theirs that are visible."""
    sitting, many = moment.turns.columns["sitting"], moment.turns.sittings
    sizes = np.bincount(sitting, moment.lexical.lengths, many).astype(np.float64)
    living = int(np.count_nonzero(np.bincount(sitting[moment.turns.alive], minlength=many)))
    mean_size = float(sizes.sum()) / living  # of whole numbers: exact
    total = np.zeros(many)
    for each in found:
        held = np.bincount(sitting[each.ordinals], each.counts, many).astype(np.float64)
        total += inverse_document_frequency(living, int(np.count_nonzero(held))) * saturated(held, sizes, mean_size)
    return np.asarray(total[sitting] / 10.0, np.float64)


def _who(moment: Moment) -> dict[str, Floats]:
    columns, asked = moment.turns.columns, moment.asked
    length = _LENGTHS[np.minimum(columns["words"], FULL_LENGTH)]
    if asked.speakers:
        said = is_among(columns["speaker"], asked.speakers)
    elif asked.own:
        said = is_among(columns["role"], moment.turns.table.roles.numbers(USER))
    else:
        return {"length": length}
    speaker = said.astype(np.float64)
    return {"length": length, "speaker": speaker, "speaker_length": speaker * length}


_LENGTHS: Final = np.array([math.log1p(words) / math.log1p(FULL_LENGTH) for words in range(FULL_LENGTH + 1)])


def _cues(moment: Moment, length: Floats) -> dict[str, Floats]:
    marks, wanted = moment.turns.columns["marks"], moment.asked.wanted
    share = FULL_LENGTH / np.maximum(moment.turns.columns["words"], FULL_LENGTH)
    time, name = ((marks & mark > 0) * share for mark in (TIME, NAME))
    found = {"time": time, "name": name}
    if wanted & NUMBER:
        found["number"] = (marks & NUMBER > 0) * share
    if wanted & NAME:
        found["which"] = name
    if wanted & TIME:
        found["when"] = time
    else:
        found["asks"] = (marks & QUESTION > 0) * (1.0 - length)
    return found


def _times(moment: Moment) -> dict[str, Floats]:
    occurred = moment.turns.columns["occurred"]
    days = np.maximum(moment.now - occurred, 0) / DAY
    recency = np.exp2(-days / HALF_LIFE_DAYS)
    if not moment.spans:
        return {"recency": recency}
    away = np.min([np.maximum(np.maximum(start - occurred, occurred - end + 1), 0) for start, end in moment.spans], axis=0)
    return {"recency": recency, "date": np.exp2(-away / DAY / DATE_HALF_LIFE_DAYS)}


def relative(found: Mapping[str, Floats], candidates: npt.NDArray[np.bool_]) -> dict[str, float]:
    """What each signal is divided by so that the best candidate's lexical signals are 1; others by nothing."""
    peaks = {name: float(np.max(found[name], where=candidates, initial=0.0)) for name in ("bm25", "window") if name in found}
    peaks |= {"reply": peaks["bm25"]} if "bm25" in peaks else {}
    return {name: peak or 1.0 for name, peak in peaks.items()}
