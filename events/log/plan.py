"""Which files of a stream's folder make up the stream: pure arithmetic over names.

A commit is named by its first seq; a sealed window holds all commits whose first seq lies in it, and beats their small
files; below the floor there is nothing. What is left over is a stray: reported, never used.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Annotated

import msgspec

from events.log.store import Windows

_NAME = re.compile(r"([0-9]{20})\.parquet")


def file_name(seq: int) -> str:
    """Twenty digits, so that names sort as numbers."""
    return f"{seq:020d}.parquet"


class Gap(Exception):
    """The files listed do not follow one another: the listing is of two moments, or the store is damaged."""

    def __init__(self, file: str, what: str) -> None:
        self.file, self.what = file, what
        super().__init__(f"{file}: {what}")


class Floor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Below `seq` all is erased; `digest` (hex) is of the event before it. It only rises."""

    seq: Annotated[int, msgspec.Meta(ge=1)]
    digest: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]

    @property
    def digest_bytes(self) -> bytes:
        """The digest, decoded."""
        return bytes.fromhex(self.digest)


class Listing(msgspec.Struct, frozen=True):
    """First seqs of small files, window starts of sealed files, the floor, and names that are none of these."""

    small: frozenset[int]
    sealed: frozenset[int]
    floor: Floor | None
    foreign: tuple[str, ...]

    @classmethod
    def of(cls, small: Sequence[str], sealed: Sequence[str], floor: Floor | None) -> "Listing":
        """From the names in the stream's folder and in its `sealed`."""
        foreign = [name for name in small if not _NAME.fullmatch(name) and name != "sealed" and not name.startswith(".")]
        foreign += [f"sealed/{name}" for name in sealed if not _NAME.fullmatch(name) and name != "floor" and not name.startswith(".")]
        return cls(_numbers(small), _numbers(sealed), floor, tuple(foreign))


def _numbers(names: Iterable[str]) -> frozenset[int]:
    return frozenset(int(match[1]) for name in names if (match := _NAME.fullmatch(name)))


class Plan(msgspec.Struct, frozen=True):
    """The files to read, found one after the other: where one ends says which is next."""

    listing: Listing
    windows: Windows
    start: int

    def next(self, seq: int) -> str | None:
        """The file that holds event `seq`, by its path below the stream's folder; None at the end. Raises Gap."""
        window = self.windows.start(seq)
        if window in self.listing.sealed:
            return f"sealed/{file_name(window)}"
        if seq in self.listing.small:
            return file_name(seq)
        if beyond := self._beyond(seq):
            raise Gap(beyond, f"event {seq} is missing before it")
        return None

    def upto(self, seq: int) -> list[str]:
        """The files that may hold event `seq`, the likeliest first: a sealed file's first commit may begin after its window."""
        small = [(first, file_name(first)) for first in self._counting if first <= seq]
        sealed = [(window, f"sealed/{file_name(window)}") for window in self.listing.sealed if window <= seq]
        return [name for _, name in sorted([*small, *sealed], reverse=True)]

    def _beyond(self, seq: int) -> str | None:
        small = min((first for first in self._counting if first > seq), default=None)
        sealed = min((window for window in self.listing.sealed if window > seq), default=None)
        if small is not None:
            return file_name(small)
        return None if sealed is None else f"sealed/{file_name(sealed)}"

    @property
    def _counting(self) -> Iterable[int]:
        return (first for first in self.listing.small if self.windows.start(first) not in self.listing.sealed)

    @property
    def strays(self) -> tuple[str, ...]:
        """Files below the floor, sealed files of no window that counts, and files that are not the log's."""
        floor = self.listing.floor.seq if self.listing.floor else 1
        small = [file_name(first) for first in sorted(self.listing.small) if first < floor]
        lowest = self.windows.start(floor)
        useless = [window for window in sorted(self.listing.sealed) if window < lowest or self.windows.start(window) != window]
        return (*self.listing.foreign, *small, *(f"sealed/{file_name(window)}" for window in useless))

    def off_chain(self, used: Collection[str]) -> tuple[str, ...]:
        """Small files from `start` on that were not among those `used`, though no sealed window beats them."""
        return tuple(file_name(first) for first in sorted(self._counting) if first >= self.start and file_name(first) not in used)


def plan(listing: Listing, start: int, windows: Windows) -> Plan:
    """How to read from `start` on."""
    return Plan(listing, windows, start)
