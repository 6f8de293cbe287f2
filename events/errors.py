"""Every error a caller can meet, named by what the caller should do about it.

    MemoryActorsError
    ├── InvalidInput        mend the call: it names what is wrong and what would be right
    ├── UnknownUser         there is no such stream; near matches are offered
    ├── Erased              it was here and has been erased on purpose
    ├── Busy                try again after `retry_after` seconds, with the same ids
    ├── OutcomeUnknown      it may or may not be durable; repeat with the same id
    ├── StoreNotHere        no store at this path on this machine
    ├── StoreDamaged        bytes are not what was written; `file` and `row` say where
    ├── StoreTooNew         written by a later version; upgrade to read it
    ├── StoreFull           no room (or no permission) to write; nothing was half-written
    ├── ModelMissing        a model cannot be loaded; says how to get or name one
    └── ClusterUnavailable  Ray cannot be reached; says what was tried

This module knows nothing of the rest of the project.
"""


class MemoryActorsError(Exception):
    """The root of all errors that this project raises on purpose."""

    @property
    def kind(self) -> str:
        """The name that `--json` prints."""
        return type(self).__name__


class InvalidInput(MemoryActorsError):
    """The call is mistaken. Nothing was written."""


class UnknownUser(MemoryActorsError):
    """No stream of that name."""

    def __init__(self, user: str, space: str, near: tuple[str, ...] = ()) -> None:
        self.user, self.space, self.near = user, space, near
        hint = f" Did you mean {', '.join(map(repr, near))}?" if near else " `memory-actors users` lists those that are."
        super().__init__(f"no user {user!r} in space {space!r}.{hint}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.user, self.space, self.near)


class Erased(MemoryActorsError):
    """What was asked for has been erased."""


class Busy(MemoryActorsError):
    """Too much at once. The same call, with the same ids, may succeed later; what was acknowledged stands."""

    def __init__(self, message: str, retry_after: float = 1.0) -> None:
        self.retry_after = retry_after
        super().__init__(message)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (str(self), self.retry_after)


class OutcomeUnknown(MemoryActorsError):
    """The commit may have become durable or not. A repeat with the same id settles it."""


class StoreNotHere(MemoryActorsError):
    """No store at that path, or none that this machine can see."""


class StoreDamaged(MemoryActorsError):
    """Stored bytes are not what was written."""

    def __init__(self, message: str, file: str = "", row: int | None = None) -> None:
        self.what, self.file, self.row = message, file, row
        place = f"{file}, row {row}: " if row is not None else f"{file}: " if file else ""
        super().__init__(f"{place}{message}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.what, self.file, self.row)


class StoreTooNew(MemoryActorsError):
    """Written by a later version of this project."""


class StoreFull(MemoryActorsError):
    """The file system refused the bytes. Nothing was half-written; it works again once there is room."""


class ModelMissing(MemoryActorsError):
    """A model's files are not there, or not the published ones."""


class ClusterUnavailable(MemoryActorsError):
    """Ray could not be started or reached."""
