"""Time-travel BM25, against the plain baseline over the documents that were visible."""

import pytest

from memory_actors.evaluation import baselines
from projections.index.lexical import LexicalIndex
from projections.index.tokens import terms, words

TEXTS = (
    "Anna moved to Lisbon in March",
    "Lisbon is sunny, Lisbon is steep",
    "the dog of Anna barks",
    "a",
    "moving house is work",
    "the dog moved",
)
QUERY = "Where did Anna move, and the dog in Lisbon?"


def _index(until: int = len(TEXTS)) -> LexicalIndex:
    index = LexicalIndex()
    for place, text in enumerate(TEXTS[:until]):
        index.add(10 * (place + 1), terms(text))
    return index


@pytest.mark.parametrize("visible", range(len(TEXTS) + 1))
def test_scores_are_those_of_the_visible_documents_alone(visible: int) -> None:
    """The whole index read at a seq scores like plain BM25 over the prefix."""
    expected = baselines.bm25(TEXTS[:visible], QUERY).tolist()

    actual = _index().at(10 * visible).scores(terms(QUERY)).tolist()

    assert expected == pytest.approx(actual)


@pytest.mark.parametrize("seq", [60, 64, 65, 66, 67, 100])
def test_documents_that_left_count_in_nothing(seq: int) -> None:
    """Withdrawn at 65 and 67: before, they are there; from then on scores are those of the others."""
    index = _index()
    index.withdraw(65, 1)
    index.withdraw(67, 4)
    left = {place for place, when in ((1, 65), (4, 67)) if when <= seq}
    kept = [place for place in range(len(TEXTS)) if place not in left]
    expected = baselines.bm25([TEXTS[place] for place in kept], QUERY).tolist()

    actual = index.at(seq).scores(terms(QUERY))

    assert expected == pytest.approx(actual[kept].tolist())
    assert not actual[sorted(left)].any()


def test_a_view_equals_that_of_an_index_never_fed_more() -> None:
    """To the bit, withdrawals included."""
    whole = _index()
    whole.withdraw(55, 0)
    whole.withdraw(61, 2)
    past = _index(5)
    past.withdraw(55, 0)

    expected, actual = past.at(55), whole.at(55)

    assert expected.scores(terms(QUERY)).tobytes() == actual.scores(terms(QUERY)).tobytes()
    assert (expected.documents, expected.mean_length) == (actual.documents, actual.mean_length)
    assert [expected.document_frequency(term) for term in terms(QUERY)] == [actual.document_frequency(term) for term in terms(QUERY)]


def test_only_the_first_withdrawal_counts() -> None:
    """A second one neither moves the moment nor counts twice."""
    index = _index()
    index.withdraw(61, 1)
    index.withdraw(70, 1)

    assert [index.at(seq).documents for seq in (60, 61, 80)] == [6, 5, 5]
    assert index.at(80).document_frequency("lisbon") == 1


def test_documents_enter_in_order() -> None:
    """An older seq would make the past change."""
    with pytest.raises(ValueError, match="after"):
        _index().add(60, ["late"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Anna's cats, don't!", ["anna", "cat"]),
        ("It\u2019s 2023-05-08", ["2023", "05", "08"]),
        ("\u00c9t\u00e9 \uff21\uff22\uff23 snake_case", ["\u00e9t\u00e9", "abc", "snake", "case"]),
        ("\u6211\u4f4f\u5728Lisbon", ["\u6211", "\u4f4f", "\u5728", "lisbon"]),
        ("the of and", []),
    ],
)
def test_terms(text: str, expected: list[str]) -> None:
    """Stems without stop words; full-width letters are letters, each Han character is a word."""
    actual = terms(text)

    assert expected == actual


def test_words_keep_stop_words() -> None:
    """They are a turn's length."""
    assert words("I don't know") == ["i", "don", "know"]
