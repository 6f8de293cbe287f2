"""Event-sourced, actor-based long-term memory for LLM agents.

The names below are imported when they are asked for: `import memory_actors` loads neither Ray nor torch nor DuckDB.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from events.errors import (
        Busy,
        ClusterUnavailable,
        Erased,
        InvalidInput,
        MemoryActorsError,
        ModelMissing,
        OutcomeUnknown,
        StoreDamaged,
        StoreFull,
        StoreNotHere,
        StoreTooNew,
        UnknownUser,
    )
    from events.policy import Policy
    from memory_actors.async_memory import AsyncMemory
    from memory_actors.memory import Memory
    from memory_actors.settings import Settings

__all__ = [
    "AsyncMemory",
    "Busy",
    "ClusterUnavailable",
    "Erased",
    "InvalidInput",
    "Memory",
    "MemoryActorsError",
    "ModelMissing",
    "OutcomeUnknown",
    "Policy",
    "Settings",
    "StoreDamaged",
    "StoreFull",
    "StoreNotHere",
    "StoreTooNew",
    "UnknownUser",
]
_ELSEWHERE = {
    "AsyncMemory": "memory_actors.async_memory",
    "Memory": "memory_actors.memory",
    "Policy": "events.policy",
    "Settings": "memory_actors.settings",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_ELSEWHERE.get(name, "events.errors")), name)


def __dir__() -> list[str]:
    return sorted(__all__)
