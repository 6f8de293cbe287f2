"""Conversations from outside: files and standard input become checked turns. Knows nothing of stores, actors or Ray."""

from memory_actors.inputs.detect import Inputs, read_inputs
from memory_actors.inputs.identity import Identity, command_ids, identities
from memory_actors.inputs.line import TurnLine, parse_line

__all__ = ["Identity", "Inputs", "TurnLine", "command_ids", "identities", "parse_line", "read_inputs"]
