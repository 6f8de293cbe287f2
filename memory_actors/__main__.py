"""`python -m memory_actors` is `memory-actors`."""

from memory_actors.cli import main

main()
