import numpy as np
import pytest
from numpy.testing import assert_allclose

from knowwhen import chunks
from knowwhen.errors import BadRequest, UnknownName
from knowwhen.query import timeline


@pytest.mark.parametrize("score_bytes", [1, 64 << 20])
def test_scores_and_probabilities_along_time_are_those_of_the_tensor(world, monkeypatch, score_bytes):
    monkeypatch.setattr(chunks, "SCORE_BYTES", score_bytes)
    model = world.model()
    found = timeline(model, world.dataset(), "Ada", "leads", ["Cy", "Bob"], "2001..2004")
    scores = world.naive(model, 0, 1, None, None)  # (E, T)
    exponential = np.exp(scores)
    assert (found.subject, found.predicate, found.objects) == ("Ada Lovelace", "leads", ["Cy", "Bob"])
    assert found.times == ["2001", "2002", "2003", "2004"]
    assert_allclose(found.scores, scores[[2, 1], 1:5], rtol=1e-5)
    assert_allclose(found.probabilities, (exponential / exponential.sum(0))[[2, 1], 1:5])
    assert found.known == [[("2003", None)], [("2000", "2002"), ("2006", "2006")]]


def test_without_objects_those_that_are_known_in_the_span_are_shown_in_order(world):
    model, data = world.model(), world.dataset()
    assert timeline(model, data, "Ada", "leads").objects == ["Bob", "Cy"]
    assert timeline(model, data, "Ada", "leads", span="2003..2004").objects == ["Cy"]
    assert len(timeline(model, data, "Ada", "leads").times) == 6


def test_mistakes_are_named(world):
    model, data = world.model(), world.dataset()
    with pytest.raises(BadRequest, match="no object of 'Dora', 'leads' is known in that span; name the objects"):
        timeline(model, data, "Dora", "leads")
    with pytest.raises(BadRequest, match="the list of objects is empty; name at least one"):
        timeline(model, data, "Ada", "leads", [])
    with pytest.raises(UnknownName, match="no entity 'Zoe'"):
        timeline(model, data, "Ada", "leads", ["Zoe"])
