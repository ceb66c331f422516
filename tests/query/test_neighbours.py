import io

import numpy as np
import polars as pl
import pytest
import torch
from numpy.testing import assert_allclose

from knowwhen.errors import BadRequest
from knowwhen.models import MODELS
from knowwhen.query import embeddings, nearest_times, similar
from knowwhen.query.neighbours import embedding_bytes


def cosines(rows, i):
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return rows @ rows[i]


def test_similar_entities_and_times_are_sorted_by_cosine(world):
    model, data = world.model(), world.dataset()
    found = similar(model, data, "Ada", top=3)
    wanted = cosines(model.decomposition.u.weight.detach().numpy(), 0)
    wanted[0] = -2
    order = np.argsort(-wanted)[:3]
    assert [n.key for n in found] == [data.entities.key(i) for i in order.tolist()]
    assert_allclose([n.similarity for n in found], wanted[order])
    assert str(found).startswith("like Ada Lovelace")
    assert found.to_polars().columns == ["name", "key", "similarity"]
    assert len(nearest_times(model, data, 2003, top=100)) == 5
    assert "2003" not in [n.key for n in nearest_times(model, data, "2003", top=100)]


@pytest.mark.parametrize("name", sorted(MODELS))
def test_every_model_has_embeddings_with_names(world, name):
    model, data = world.model(name), world.dataset()
    frame = embeddings(model, data, "entities")
    assert frame["label"].to_list() == ["Ada Lovelace", "Bob", "Cy", "Dora", "Eve", "Finn", "Gus"]
    assert_allclose(
        np.stack(frame["embedding"].to_numpy()), model.decomposition.entity_rows().detach().numpy(), rtol=1e-6
    )
    assert embeddings(model, data, "predicates")["key"].to_list() == ["knows", "leads", "likes"]
    if model.decomposition.time_axes():
        assert embeddings(model, data, "timestamps")["key"].to_list() == data.timeline.labels()
    else:
        with pytest.raises(BadRequest, match=f"{name} on small has no timestamps in its embedding"):
            embeddings(model, data, "timestamps")


def test_the_row_of_undated_facts_is_no_timestamp(world):
    assert len(embeddings(world.model(undated_row=True), world.dataset(), "timestamps")) == 6


def test_files_read_back(world):
    frame = embeddings(world.model(), world.dataset(), "predicates")
    assert pl.read_parquet(io.BytesIO(embedding_bytes(frame, "parquet"))).equals(frame)
    with np.load(io.BytesIO(embedding_bytes(frame, "npz")), allow_pickle=False) as arrays:
        assert arrays["keys"].tolist() == arrays["labels"].tolist() == ["knows", "leads", "likes"]
        assert_allclose(arrays["embedding"], np.stack(frame["embedding"].to_numpy()))


def test_mistakes_are_named(world):
    model, data = world.model(), world.dataset()
    with pytest.raises(BadRequest, match="no embeddings of 'things'; expected entities, predicates, timestamps"):
        embeddings(model, data, "things")
    with pytest.raises(BadRequest, match=r"'2001..2003' covers 3 timestamps; expected a single year"):
        nearest_times(model, data, "2001..2003")
    with pytest.raises(BadRequest, match="top is 0; expected at least 1"):
        similar(model, data, "Ada", top=0)


def test_a_row_of_zeros_is_like_nothing(world):
    model = world.model()
    with torch.no_grad():
        model.decomposition.u.weight[1] = 0
    assert all(n.similarity == 0 for n in similar(model, world.dataset(), "Bob"))
