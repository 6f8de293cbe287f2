"""Options that every command takes, before it or after it, and what they mean."""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click
import msgspec

from memory_actors.settings import Settings, from_environment

if TYPE_CHECKING:
    from memory_actors.memory import Memory

Command = Callable[..., Any]


class Chosen(msgspec.Struct):
    """What the caller chose. None: the environment's, or the default."""

    store: str | None = None
    space: str | None = None
    ray: str | None = None
    embedder: str | None = None
    json: bool = False

    def over(self, other: "Chosen") -> "Chosen":
        """These choices, and the other's where nothing is chosen here."""
        mine = {name: value for name, value in msgspec.structs.asdict(self).items() if value not in (None, False)}
        return msgspec.structs.replace(other, **mine)

    def settings(self) -> Settings:
        """The environment's settings with these choices over them. The command line records no recalls."""
        chosen = {name: value for name in ("store", "space", "ray", "embedder") if (value := getattr(self, name)) is not None}
        return msgspec.structs.replace(from_environment(), recalls="never", **chosen)

    def memory(self, *, write: bool = False) -> "Memory":
        """The memory that is meant. Only writes make a store that is not there, or need a model (before they begin).

        Reads are served in this process, unless --ray was said: an actor takes longer to start than one read takes.
        """
        from memory_actors.memory import Memory  # noqa: PLC0415
        from memory_actors.models.embedder import check_model  # noqa: PLC0415 - `--help` should not wait for these

        settings = self.settings()
        if write:
            check_model(settings.embedder)
        return Memory(settings.store, ray=settings.ray if write or self.ray else "off", settings=settings, naive="utc", create=write)


_OPTIONS = (
    click.option("--store", metavar="FOLDER", help="the store's folder  [./memory, or MEMORY_ACTORS_STORE]"),
    click.option("--space", metavar="NAME", help="tenant, guild or project; nothing crosses spaces  [default]"),
    click.option("--ray", metavar="off|local|auto|ADDRESS", help="through actors on Ray  [off]"),
    click.option("--embedder", metavar="MODEL", help="a sentence-transformers model, a folder, or none  [all-MiniLM-L6-v2]"),
    click.option("--json", "json", is_flag=True, help="print the answer as JSON"),
)


def common(command: Command) -> Command:
    """Give a command the common options; it gets them as its first argument, a `Chosen`."""

    @functools.wraps(command)
    def wrapped(*args: Any, store: str, space: str, ray: str, embedder: str, json: bool, **kwargs: Any) -> Any:
        here = Chosen(store, space, ray, embedder, json)
        context = click.get_current_context()
        context.obj = here.over(context.obj or Chosen())
        return command(context.obj, *args, **kwargs)

    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


as_of = click.option("--as-of", metavar="T", help="as it was known then: 2026-03-01, an ISO time, '3 days ago', @120")
valid_at = click.option("--valid-at", metavar="T", help="facts that held then")
