"""The commands by name. Each is imported when it is used, so that a cold `facts` does not wait for what `ingest` needs."""

import importlib
from typing import Any

import click

from memory_actors.cli.options import common

COMMANDS = {
    "ingest": "write",
    "record": "write",
    "end": "write",
    "forget": "write",
    "correct": "write",
    "enrich": "write",
    "recall": "read",
    "context": "read",
    "facts": "read",
    "episodes": "read",
    "topics": "read",
    "session": "read",
    "events": "read",
    "users": "read",
    "conversations": "read",
    "diff": "explain",
    "why": "explain",
    "replay": "explain",
    "policy": "policy",
    "sql": "explain",
    "log": "log",
    "evaluate": "evaluate",
    "demo": "demo",
    "doctor": "doctor",
    "stop": "stop",
}


class Lazy(click.Group):
    """A group whose commands live in modules named by `COMMANDS`."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """All names, in the order above."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, or None for a name that is none."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"memory_actors.cli.{COMMANDS[cmd_name]}")
        found: click.Command = getattr(module, cmd_name)
        return found if ctx is not None else None


@click.group(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(package_name="memory-actors")
@common
def cli(_chosen: Any) -> None:
    """Long-term memory for LLM agents: every memory as it was at any moment."""
