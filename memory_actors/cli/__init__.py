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
    except (KeyboardInterrupt, click.Abort):
        gone = "interrupted; what was acknowledged is kept"
        sys.stderr.write(
            (msgspec.json.encode({"error": "Interrupted", "message": gone}).decode() if "--json" in arguments else gone) + "\n"
        )
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (MemoryActorsError, click.ClickException, UnicodeEncodeError, OSError) as error:
        sys.stderr.write(said(error, as_json="--json" in arguments) + "\n")
        return MISTAKEN


def said(error: Exception, *, as_json: bool) -> str:
    """What is wrong: one JSON object, or text that begins with the kind of the error. Without a command: the help."""
    kind, message = described(error)
    if as_json:
        return msgspec.json.encode({"error": kind, "message": safe(message)}).decode()
    return safe(message if isinstance(error, click.exceptions.NoArgsIsHelpError) else f"{kind}: {message}")


def described(error: Exception) -> tuple[str, str]:
    """The kind of an error and its message."""
    match error:
        case MemoryActorsError():
            return error.kind, str(error)
        case click.ClickException():
            return "InvalidInput", error.format_message()
        case UnicodeEncodeError():
            return "InvalidInput", f"{error.object!r} holds a lone surrogate (half of a character); it is not valid text"
        case _:
            return type(error).__name__, str(error)


def safe(message: str) -> str:
    """Without what no terminal or JSON can hold."""
    return message.encode("utf-8", "backslashreplace").decode()
