"""The command line. Every command takes `--json`; stdout is the answer or empty; progress and errors go to stderr.

Exit codes: 0; 1: a check found something; 2: a mistaken call, or an environment that does not allow it; 130: interrupted.
"""

import os
import sys
from collections.abc import Sequence

import click
import msgspec

from events.errors import MemoryActorsError
from memory_actors.cli.group import cli

MISTAKEN = 2
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, and turn every error into a message and an exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    sys.exit(run(given))


def run(arguments: Sequence[str]) -> int:
    """The exit code of a command line."""
    try:
        code = cli.main(list(arguments), prog_name="memory-actors", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except click.ClickException as error:
        return fail("InvalidInput", error.format_message(), arguments)
    except MemoryActorsError as error:
        return fail(error.kind, str(error), arguments)
    except (KeyboardInterrupt, click.Abort):
        sys.stderr.write("interrupted; what was acknowledged is kept\n")
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def fail(kind: str, message: str, arguments: Sequence[str]) -> int:
    """Say what is wrong: one JSON object with `--json`, a line without."""
    if "--json" in arguments:
        sys.stderr.write(msgspec.json.encode({"error": kind, "message": safe(message)}).decode() + "\n")
    else:
        sys.stderr.write(f"{kind}: {safe(message)}\n")
    return MISTAKEN


def safe(message: str) -> str:
    """Without what no terminal or JSON can hold."""
    return message.encode("utf-8", "backslashreplace").decode()
