"""Texts to vectors: exact integers, checked weights, and no model where none is meant."""

import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from embedders import HashedStems
from hypothesis import given
from hypothesis import strategies as st

from events.errors import ModelMissing
from memory_actors.models import embedder as embedding
from memory_actors.models.embedder import DEFAULT_MODEL, SentenceTransformerEmbedder, check_model, check_weights, embedder_named
from memory_actors.models.tokenizer import WordPieces, bundled_model
from projections.index.dense import quantised, vector_scale


@given(st.integers(0, 2**32 - 1), st.sampled_from([3, 384, 1024]))
def test_rounding_lengthens_a_vector_by_at_most_half_the_root_of_its_dimensions(seed: int, dimensions: int) -> None:
    """So that no partial sum of a dot product leaves what float32 holds exactly."""
    vectors = quantised(np.random.default_rng(seed).normal(size=(4, dimensions)))
    lengths = np.sqrt((vectors.astype(np.int64) ** 2).sum(axis=1))

    assert np.abs(lengths - vector_scale(dimensions)).max() <= math.sqrt(dimensions) / 2
    assert lengths.max() <= 4096
    assert np.int16 == vectors.dtype


def test_the_fake_embedder_keeps_the_contract() -> None:
    """Deterministic, [n, 384] int16; texts that share words are more alike."""
    one, other, third = HashedStems().embed(["boats in the harbour", "the harbour's boats", "a turbine"]).astype(np.int64)

    assert ((384,), 4086) == (one.shape, vector_scale(384))
    assert one @ other > one @ third
    assert np.array_equal(HashedStems().embed(["boats"]), HashedStems().embed(["boats"]))


def test_none_is_no_embedder_and_a_name_is_one_a_process() -> None:
    assert embedder_named("none") is None
    assert embedder_named(DEFAULT_MODEL) is embedder_named(DEFAULT_MODEL)
    assert not SentenceTransformerEmbedder().loaded


def test_a_folders_model_is_named_by_its_last_part() -> None:
    assert "mine" == SentenceTransformerEmbedder("/models/mine").model


@pytest.mark.parametrize("name", ["/nonexistent", "./nonexistent", "../nonexistent/x", "~/nonexistent"])
def test_a_folder_that_is_not_there_is_known_without_loading(name: str) -> None:
    with pytest.raises(ModelMissing, match="--embedder none"):
        check_model(name)
    with pytest.raises(ModelMissing, match="nonexistent"):
        SentenceTransformerEmbedder(name).embed(["x"])


def test_what_may_be_on_a_hub_is_not_refused_unseen(tmp_path: Path) -> None:
    check_model("org/some-model")
    check_model("none")
    check_model(DEFAULT_MODEL)
    check_model(str(tmp_path))


def test_a_tampered_copy_of_the_weights_is_refused(tmp_path: Path) -> None:
    """One flipped bit is enough; so is no file."""
    copied = tmp_path / "model"
    shutil.copytree(bundled_model(), copied)
    check_weights(copied)
    weights = copied / "model.safetensors"
    with weights.open("r+b") as file:
        file.seek(weights.stat().st_size // 2)
        byte = file.read(1)[0]
        file.seek(-1, 1)
        file.write(bytes([byte ^ 1]))

    with pytest.raises(ModelMissing, match="is not the published"):
        check_weights(copied)

    weights.unlink()

    with pytest.raises(ModelMissing, match="reinstall"):
        check_weights(copied)


def test_the_default_model_is_not_loaded_from_tampered_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied = tmp_path / "model"
    shutil.copytree(bundled_model(), copied)
    (copied / "model.safetensors").write_bytes(b"other")
    monkeypatch.setattr(embedding, "bundled_model", lambda: copied)

    with pytest.raises(ModelMissing, match="is not the published"):
        SentenceTransformerEmbedder().embed(["x"])


def test_tokens_are_counted_without_the_model() -> None:
    found = SentenceTransformerEmbedder()

    assert (5, 0) == (found.count_tokens("We fixed the database index"), found.count_tokens(""))
    assert not found.loaded


def test_a_folder_without_a_tokenizer_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match="no tokenizer"):
        WordPieces(tmp_path)


@pytest.mark.model
def test_the_default_model_tells_meanings_apart() -> None:
    """Its vectors are recorded as integers of the promised length, single or in a batch, up to rounding."""
    found = embedder_named(DEFAULT_MODEL)
    assert found is not None
    texts = ["Where do I live?", "My home is in Lisbon.", "The turbine database is slow."]
    vectors = found.embed(texts).astype(np.int64)
    single = np.concatenate([found.embed([text]) for text in texts]).astype(np.int64)

    assert (3, 384) == vectors.shape
    assert np.abs(np.sqrt((vectors**2).sum(axis=1)) - 4086).max() <= math.sqrt(384) / 2
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]
    assert np.abs(vectors - single).max() <= 1
