"""Which files make up a stream: arithmetic over names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.log.plan import Floor, Gap, Listing, Plan, file_name, plan
from events.log.store import Windows

SMALL_WINDOWS = Windows(small=4, until=16, large=8)


def listing(small: set[int], sealed: set[int] = frozenset(), floor: int | None = None, foreign: tuple[str, ...] = ()) -> Listing:
    return Listing(frozenset(small), frozenset(sealed), None if floor is None else Floor(floor, "00" * 32), foreign)


def planned(small: set[int], sealed: set[int] = frozenset(), start: int = 1, floor: int | None = None) -> Plan:
    return plan(listing(small, sealed, floor), start, SMALL_WINDOWS)


@pytest.mark.parametrize(
    ("seq", "window"),
    [(1, 1), (64, 1), (65, 65), (128, 65), (961, 961), (1024, 961), (1025, 1025), (2048, 1025), (2049, 2049), (5000, 4097)],
)
def test_the_default_windows(seq: int, window: int) -> None:
    """64 seqs up to 1,024, then 1,024; a window is named by its first seq."""
    assert window == Windows().start(seq)


@given(st.integers(1, 10**6))
def test_windows_do_not_overlap(seq: int) -> None:
    """Every seq lies in exactly one window, whose start lies in itself, and which is 64 or 1,024 long."""
    windows = Windows()
    start = windows.start(seq)

    assert windows.start(start) == start <= seq < start + (64 if seq <= 1024 else 1024)
    assert windows.start(seq + 1) in (start, seq + 1)


def test_file_names_sort_as_numbers() -> None:
    """Twenty digits are enough for any 64-bit seq."""
    seqs = [1, 2, 10, 99, 100, 10**9, 2**63]

    assert [file_name(seq) for seq in seqs] == sorted(file_name(seq) for seq in seqs)
    assert "00000000000000000042.parquet" == file_name(42)


def test_a_small_file_is_read_where_its_window_is_not_sealed() -> None:
    """By its first seq."""
    assert [file_name(1), file_name(3), None] == [planned({1, 3}).next(seq) for seq in (1, 3, 4)]


def test_a_sealed_window_beats_its_small_files() -> None:
    """Leftovers of a sealing are not read, so that no event is seen twice."""
    both = planned({1, 3, 5}, sealed={1})

    assert [f"sealed/{file_name(1)}"] * 4 == [both.next(seq) for seq in (1, 2, 3, 4)]
    assert file_name(5) == both.next(5)


def test_an_empty_stream_has_no_files() -> None:
    """Nothing is missing either."""
    assert planned(set()).next(1) is None


@pytest.mark.parametrize(
    ("small", "sealed", "seq", "beyond"),
    [
        ({1, 4}, set(), 3, file_name(4)),
        ({9, 4}, set(), 3, file_name(4)),
        ({1}, {9}, 4, f"sealed/{file_name(9)}"),
        (set(), {17}, 1, f"sealed/{file_name(17)}"),
    ],
)
def test_a_gap_names_the_file_behind_it(small: set[int], sealed: set[int], seq: int, beyond: str) -> None:
    """The next file there is, sealed or small."""
    with pytest.raises(Gap, match=f"event {seq} is missing before it") as caught:
        planned(small, sealed).next(seq)

    assert beyond == caught.value.file


def test_leftovers_of_a_sealed_window_are_no_gap() -> None:
    """A late small file of a sealed window is beaten by it, so it does not make the end of the stream a hole."""
    assert planned({3}, sealed={1}).next(5) is None


def test_files_below_the_floor_are_strays() -> None:
    """They are reported, and the plan begins at the floor."""
    erased = planned({1, 3, 6, 7}, start=6, floor=6)

    assert (file_name(1), file_name(3)) == erased.strays
    assert file_name(6) == erased.next(6)


def test_a_window_that_the_floor_divides_is_read() -> None:
    """The sealed file that holds the floor's event also holds some below it."""
    assert f"sealed/{file_name(5)}" == planned({9}, sealed={5}, start=6, floor=6).next(6)


def test_sealed_windows_below_the_floor_are_strays() -> None:
    """Nothing of a window that ends before the floor counts."""
    assert (f"sealed/{file_name(1)}",) == planned({9}, sealed={1, 5}, start=6, floor=6).strays


def test_a_sealed_file_that_is_named_after_no_window_is_a_stray() -> None:
    """No seq leads to it."""
    assert (f"sealed/{file_name(3)}",) == planned({1}, sealed={3}).strays


def test_a_listing_tells_files_from_what_is_not_the_logs() -> None:
    """Temporaries and locks begin with a dot and are nobody's business; anything else that is not a commit is foreign."""
    small = [
        file_name(1),
        file_name(12),
        "sealed",
        ".lock",
        ".tmp-9",
        "7.parquet",
        "notes.txt",
        "\u0660" * 20 + ".parquet",
        file_name(3) + ".bak",
    ]
    sealed = [file_name(1), "floor", ".tmp-1", "ceiling"]

    found = Listing.of(small, sealed, Floor(2, ""))

    assert (frozenset({1, 12}), frozenset({1}), Floor(2, "")) == (found.small, found.sealed, found.floor)
    assert ("7.parquet", "notes.txt", "\u0660" * 20 + ".parquet", file_name(3) + ".bak", "sealed/ceiling") == found.foreign


def test_foreign_files_are_strays() -> None:
    """They are reported with those below the floor."""
    assert ("notes.txt", file_name(0)) == plan(listing({0, 1}, foreign=("notes.txt",)), 1, SMALL_WINDOWS).strays


@given(st.data())
def test_a_plan_reads_each_event_once(data: st.DataObject) -> None:
    """Whatever the sizes of commits and whichever windows are sealed, with or without leftovers: in order, to the end."""
    sizes = data.draw(st.lists(st.integers(1, 20), min_size=1, max_size=12))
    firsts = [1 + sum(sizes[:index]) for index in range(len(sizes))]
    ends = {first: first + size - 1 for first, size in zip(firsts, sizes, strict=True)}
    windows = {SMALL_WINDOWS.start(first) for first in firsts}
    sealed = data.draw(st.sets(st.sampled_from(sorted(windows - {SMALL_WINDOWS.start(firsts[-1])} or {1})))) - {
        SMALL_WINDOWS.start(firsts[-1])
    }
    unlinked = {first for first in firsts if SMALL_WINDOWS.start(first) in sealed and data.draw(st.booleans())}
    files = {file_name(first): [first] for first in firsts}
    files |= {f"sealed/{file_name(window)}": [first for first in firsts if SMALL_WINDOWS.start(first) == window] for window in sealed}
    made = planned(set(firsts) - unlinked, sealed)

    seen: list[int] = []
    while (name := made.next(ends[seen[-1]] + 1 if seen else 1)) is not None:
        seen += files[name]

    assert firsts == seen
