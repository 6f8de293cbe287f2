"""What an actor is told when it is made: values only, sent so that a raise in making it is impossible."""

import hashlib
import pickle
from typing import Any, Literal

import msgspec
from ray import cloudpickle

from events.errors import InvalidInput
from memory_actors.models.embedder import Embedder, embedder_named
from memory_actors.settings import Settings

Role = Literal["user", "projection", "enricher", "embedder"]
PREFIX = "memory-actors-"


class Spec(msgspec.Struct, frozen=True):
    """Where and by what an actor works. `policy`: None for the one that is set in the store, else this one's JSON.

    `embedder`: a model's name, or an object that can be pickled.
    """

    path: str
    store_id: str
    settings: Settings
    policy: bytes | None
    embedder: Any

    def chosen(self) -> Embedder | None:
        """The embedder in this process: for its name and its tokens; to embed, the embedder's actor is asked."""
        chosen: Embedder | None = embedder_named(self.embedder) if isinstance(self.embedder, str) else self.embedder
        return chosen


class Home(msgspec.Struct, frozen=True):
    """Where a store's actors live: their namespace, and the node that sees the folder; "" for any node.

    The namespace is of this store at this place: a copied store never reaches the original's actors, nor does a folder of
    the same name elsewhere.
    """

    namespace: str
    node: str

    @classmethod
    def of(cls, store_id: str, path: str, node: str) -> "Home":
        """The home of a store. `node`: the one that sees its folder, or ""."""
        name = f"{store_id}\0{path}\0{node}".encode()
        return cls(PREFIX + hashlib.blake2b(name, digest_size=8).hexdigest(), node)


class Sent(msgspec.Struct, frozen=True):
    """A spec on its way: unpacked by the first call, because an actor that cannot be made is dead for good.

    `greeting` differs for specs that decide differently: by the policy given, the embedder's name, or whether anybody enriches.
    """

    packed: bytes
    greeting: str
    idle_seconds: float

    @classmethod
    def of(cls, spec: Spec) -> "Sent":
        """Raises InvalidInput for an embedder that cannot be sent."""
        chosen = spec.chosen()
        greeting = hashlib.blake2b(
            repr((spec.policy, "" if chosen is None else chosen.model, spec.settings.enrichers > 0)).encode(), digest_size=4
        )
        try:
            return cls(cloudpickle.dumps(spec), greeting.hexdigest(), spec.settings.idle_seconds)
        except (TypeError, AttributeError, pickle.PicklingError) as error:
            raise InvalidInput(
                f"the embedder cannot be sent to actors ({error}); give a model's name, or an object that can be pickled"
            ) from error

    def spec(self) -> Spec:
        """The spec. Raises InvalidInput where the embedder's code is not."""
        try:
            spec: Spec = pickle.loads(self.packed)  # noqa: S301 - Ray would have done the same
        except (ImportError, AttributeError) as error:
            raise InvalidInput(
                f"the embedder's code is not where the actors are ({error}); give a model's name, or install it there"
            ) from error
        return spec
