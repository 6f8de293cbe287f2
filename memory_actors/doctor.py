"""Is this machine and this store fit to remember? Each check says what it found and, if that is bad, what to do."""

import importlib.metadata
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import msgspec

from events.ambient import Clock
from events.errors import MemoryActorsError
from events.log.file_log import FileLog
from events.log.files import Files
from events.log.store import open_store
from memory_actors.actors.snapshots import Snapshots, check_snapshots
from memory_actors.models.embedder import DEFAULT_MODEL, check_model, check_weights
from memory_actors.models.tokenizer import bundled_model
from memory_actors.settings import Settings
from memory_actors.times import show

LOW_BYTES = 1 << 30
PACKAGES = ("ray", "duckdb", "pyarrow", "hnswlib", "sentence-transformers", "httpx", "msgspec", "torch", "numpy")


class Finding(msgspec.Struct, frozen=True):
    """One check: "ok", "warning", or "problem", and what was seen."""

    check: str
    state: Literal["ok", "warning", "problem"]
    detail: str


def examine(settings: Settings, clock: Clock, cluster: Path | None = None) -> list[Finding]:
    """All checks, with a `cluster` file's where one is named. None of them changes anything that lasts."""
    checks: tuple[Callable[[], Iterator[Finding]], ...] = (
        _python,
        _packages,
        lambda: _model(settings),
        lambda: _file_system(Path(settings.store)),
        lambda: _store(settings, clock),
        lambda: iter(()) if cluster is None else _cluster(cluster),
    )
    return [finding for check in checks for finding in check()]


def _python() -> Iterator[Finding]:
    version = platform.python_version()
    yield Finding("python", "ok" if sys.version_info >= (3, 11) else "problem", version)


def _packages() -> Iterator[Finding]:
    for name in PACKAGES:
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            yield Finding(name, "problem", "not installed: pip install -c constraints.txt .")
            continue
        wrong = name == "duckdb" and version == "2.0.0"
        yield Finding(name, "problem" if wrong else "ok", f"{version}: wrong results on Arrow scans; use another" if wrong else version)


def _model(settings: Settings) -> Iterator[Finding]:
    if settings.embedder == "none":
        yield Finding("embedder", "warning", "none: recall is lexical only, and there are no topics")
    elif settings.embedder == DEFAULT_MODEL:
        try:
            check_weights(bundled_model())
            yield Finding("embedder", "ok", f"{DEFAULT_MODEL}, the published weights")
        except MemoryActorsError as error:
            yield Finding("embedder", "problem", str(error))
    else:
        yield _named_model(settings.embedder)
    yield Finding("language model", "ok", "none: facts by patterns, summaries by extraction")


def _named_model(name: str) -> Finding:
    try:
        check_model(name)
    except MemoryActorsError as error:
        return Finding("embedder", "problem", str(error))
    return Finding("embedder", "ok", f"{name} (loaded when first used)")


def _file_system(store: Path) -> Iterator[Finding]:
    """Whether link refuses a taken name and fsync is honoured, tried beside the store's own files."""
    folder = next(path for path in (store.absolute(), *store.absolute().parents) if path.is_dir())
    files, name = Files(), ".memory-actors-doctor"
    try:
        won = files.link_new(folder, name, b"1") and not files.link_new(folder, name, b"2")
        kept = files.read(folder / name) == b"1"
        files.fsync_folder(folder)
        fit = won and kept
        yield Finding(
            "file system",
            "ok" if fit else "problem",
            f"{folder}: link and fsync work" if fit else f"{folder}: link does not refuse a taken name",
        )
    except (OSError, MemoryActorsError) as error:
        yield Finding("file system", "problem", f"{folder}: {error}")
    finally:
        files.unlink(folder / name)
    free = shutil.disk_usage(folder).free
    yield Finding("room", "ok" if free > LOW_BYTES else "warning", f"{free / 1e9:.1f} GB free")


def _store(settings: Settings, clock: Clock) -> Iterator[Finding]:
    if not Path(settings.store).exists():
        yield Finding("store", "ok", f"none at {settings.store} yet; the first ingest or record makes it")
        return
    try:
        log = FileLog(open_store(settings.store))
    except MemoryActorsError as error:
        yield Finding("store", "problem", str(error))
        return
    yield Finding("store", "ok", f"{log.store.path}, format {log.store.description.format}, {len(log.streams())} streams")
    yield from _tails(log, clock)
    yield from (Finding("snapshots", "problem", problem) for problem in check_snapshots(log, Snapshots(log.store)))


def _tails(log: FileLog, clock: Clock) -> Iterator[Finding]:
    now = clock.now()
    for stream in log.streams():
        try:
            tail = log.read(stream, vectors=False).tail
        except MemoryActorsError as error:
            yield Finding(str(stream), "problem", str(error))
            continue
        if tail.recorded_at > now:
            yield Finding(str(stream), "warning", f"its last event is ahead of this machine's clock, at {show(tail.recorded_at)}")


def _cluster(path: Path) -> Iterator[Finding]:
    """Whether `ray up` would take the file, and whether a memory is safe there."""
    from memory_actors.cluster.file import read_cluster, warnings  # noqa: PLC0415 - Ray takes a second to import

    try:
        config = read_cluster(path)
    except MemoryActorsError as error:
        yield Finding("cluster file", "problem", str(error))
        return
    yield Finding("cluster file", "ok", f"{path}, {config['provider']['type']}, up to {config.get('max_workers', 0)} workers")
    for warning in warnings(config):
        yield Finding("cluster file", "warning", warning)
