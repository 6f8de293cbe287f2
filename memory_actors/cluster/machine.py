"""How much memory this machine has for us."""

import os
from pathlib import Path

ACTOR_BYTES = 70_000_000
"""What an actor of one user is counted as."""
SHARE = 0.25
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def memory_bytes() -> int:
    """Of the machine, or of the container that this process is in."""
    whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limits = [Path(path).read_text().strip() for path in _LIMITS if Path(path).is_file()]
    return min([whole, *(int(limit) for limit in limits if limit.isdigit())])


def room_for_actors(memory: int) -> int:
    """So many users may have an actor of their own: a quarter of the memory (in bytes), at least one."""
    return max(int(memory * SHARE) // ACTOR_BYTES, 1)
