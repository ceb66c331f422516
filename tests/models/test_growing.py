"""A larger model: what it knew it says as before, and who is new is placed by the facts that hold them."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from knowwhen.facts.table import OPEN, Facts
from knowwhen.models import MODELS, Background, Sizes, Specification, build
from knowwhen.models.growing import CAUTION, grown, place_unseen
from knowwhen.models.scores import Product
from knowwhen.models.tables import Axis, tables_of

E, P, T = 6, 2, 4
SEEN = np.array([True] * 4 + [False] * 2)
# (s, p, o, begin, end); 4 and 5 are new. Facts between new ones, and between known ones, place nobody.
ROWS = [
    (0, 0, 4, 1, 1),
    (1, 1, 4, 2, 3),
    (4, 0, 2, OPEN, 2),  # asked from the other side, at its end
    (4, 1, 5, 0, 0),
    (0, 1, 1, 0, 0),
    (5, 0, 3, OPEN, OPEN),  # at any time, or at the undated row
]
PRODUCTS = ["complex", "cp", "distmult", "tcomplex", "timeplex", "tntcomplex", "tucker", "unioncomplex"]


def facts(rows=ROWS):
    return Facts(*np.array(rows, dtype=np.int64).reshape(-1, 5).T)


def model_of(name, undated=False, seed=0, entities=E, **options):
    fields = MODELS[name].Options.model_fields
    options = {k: v for k, v in ({"rank": 3, "predicate_rank": 2} | options).items() if k in fields}
    model = build(Specification(name, Sizes(entities, P, T, undated), options)).double().eval()
    model.initialise(torch.Generator().manual_seed(seed))
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for tensor in [*model.parameters(), *model.buffers()]:
            if tensor.is_floating_point():
                tensor.copy_(torch.randn(tensor.shape, generator=g))
        for key, buffer in model.named_buffers():
            if key.endswith("running_var"):
                buffer.abs_().add_(0.5)
    background = Background(facts(), np.arange(T), np.stack([np.arange(T) + 1] * 3, axis=1))
    return model.recall(background)


def asked(undated):
    """Each fact from both sides, as (s, p, o, t)."""
    found = []
    for s, p, o, begin, end in ROWS:
        t = begin if begin != OPEN else end if end != OPEN else T if undated else 0
        found += [(s, p, o, t), (o, p + P, s, t)]
    return found


def naive_rows(rows, queries, caution=CAUTION):
    """The mean direction of an entity's queries, as long as known rows are on average, times n / (n + caution)."""
    length = sum(row.norm() for row in rows[:4]) / 4
    found = rows.clone()
    for e in (4, 5):
        own = [query for entity, query in queries if entity == e]
        mean = sum((query / query.norm() for query in own), torch.zeros_like(rows[0])) / max(1, len(own))
        found[e] = mean * length * len(own) / (len(own) + caution)
    return found


@pytest.mark.parametrize("undated", [False, True])
@pytest.mark.parametrize("name", PRODUCTS)
def test_a_new_row_is_the_mean_direction_of_its_queries(name, undated):
    model = model_of(name, undated)
    decomposition = model.decomposition
    with torch.no_grad():
        queries = []
        for s, p, o, t in asked(undated):
            if SEEN[s] and not SEEN[o]:
                scores = decomposition.objects(*(torch.tensor([i]) for i in (s, p, t)))
                assert isinstance(scores, Product)
                queries.append((o, scores.query[0]))
        table = decomposition._entity_table() if name != "cp" else decomposition.w
        wanted = naive_rows(table.weight, queries)
        others = {key: x.clone() for key, x in model.state_dict().items() if ".u." not in key and ".w." not in key}
    place_unseen(model, facts(), SEEN)
    assert_close(table.weight.detach(), wanted)
    assert all(torch.equal(model.state_dict()[key], x) for key, x in others.items())
    assert all(parameter.grad is None for parameter in model.parameters())


def test_cp_places_subjects_and_objects():
    """Once, only the table of objects was placed: a new entity was never answered as a subject."""
    model = model_of("cp")
    u, v, w = (getattr(model.decomposition, name).weight.detach().clone() for name in "uvw")
    objects = [(o, u[s] * v[p]) for s, p, o, _ in asked(undated=False) if SEEN[s] and not SEEN[o]]
    # (s, p, o) with a new o is (o, p⁻¹, s) as well, where its row of u is multiplied with v_p⁻¹ and w_s.
    subjects = [(o, v[(p + P) % (2 * P)] * w[s]) for s, p, o, _ in asked(undated=False) if SEEN[s] and not SEEN[o]]
    place_unseen(model, facts(), SEEN)
    assert_close(model.decomposition.w.weight.detach(), naive_rows(w, objects))
    assert_close(model.decomposition.u.weight.detach(), naive_rows(u, subjects))
    assert model.decomposition.u.weight[4].norm() > 0


@pytest.mark.parametrize("caution", [0.0, 1.0, 10.0])
def test_caution_is_a_number_of_facts(caution):
    model = model_of("tntcomplex")
    before = model.decomposition.u.weight.detach().clone()
    place_unseen(model, facts([(0, 0, 4, 1, 1)]), SEEN, caution)
    length = before[:4].norm(dim=-1).mean()
    assert_close(model.decomposition.u.weight[4].norm().detach(), length / (1 + caution))
    assert (model.decomposition.u.weight[5] == 0).all(), "no fact, no row"


def test_without_facts_about_them_the_new_are_zero():
    for rows in ([], [(4, 0, 5, 1, 1)], [(0, 0, 1, 1, 1)]):
        model = model_of("tntcomplex")
        known = model.decomposition.u.weight[:4].detach().clone()
        place_unseen(model, facts(rows), SEEN)
        assert (model.decomposition.u.weight[4:] == 0).all()
        assert torch.equal(model.decomposition.u.weight[:4], known)


@pytest.mark.parametrize("name", ["transe", "desimple", "tero", "boxte"])
def test_models_that_are_no_products_are_placed_by_their_slopes(name):
    """What holds for a new entity scores better than it did with a row of zero."""
    model = model_of(name)
    s, p, o, t = (torch.tensor([i]) for i in ROWS[0][:4])
    with torch.no_grad():
        for table in tables_of(model.decomposition).values():
            if table.axis is Axis.ENTITY:
                table.weight[4:] = 0
                table.weight.mul_(0.1)  # a step along a slope is short
        before = model.score(s, p, o, t)
    place_unseen(model, facts(ROWS[:1]), SEEN)
    assert model.score(s, p, o, t) > before


def test_r_gcn_places_the_new_by_their_messages():
    model = model_of("rgcn")
    features = model.decomposition.x.weight
    with torch.no_grad():
        features[4:] = 0
    place_unseen(model, facts(), SEEN)
    assert (features[4:] == 0).all() and (features[:4] != 0).all()
    assert model.decomposition.entity_rows()[4].norm() > 0


@given(st.sampled_from(sorted(set(MODELS) - {"latent"})), st.booleans(), st.integers(0, 20))
def test_what_was_known_is_said_as_before_at_every_copied_time(name, undated, seed):
    """But in a latent space, where a time is where it is on the axis and a radius is that of all facts."""
    model = model_of(name, undated, seed)
    earlier = np.array([0, 0, 1, 1, 2, 3, 3])
    larger = grown(model, Sizes(E + 2, P, len(earlier), undated), earlier)
    positions, old = np.arange(len(earlier)), model.decomposition
    calendar = np.stack([earlier + 1] * 3, axis=1)
    larger.recall(Background(facts(), positions, calendar))
    g = torch.Generator().manual_seed(seed)
    s, p, o, t = (torch.randint(n, (20,), generator=g) for n in (E, 2 * P, E, len(earlier) + undated))
    before = torch.tensor([*earlier, T])[t]
    assert_close(larger.score(s, p, o, t), model.score(s, p, o, before))
    for key, table in tables_of(larger.decomposition).items():
        mine, theirs = table.weight, tables_of(old)[key].weight
        if table.axis is Axis.TIME:
            assert torch.equal(mine[: len(earlier)], theirs[torch.from_numpy(earlier)])
            assert torch.equal(mine[len(earlier) :], theirs[T:]), "the undated row stays the last"
        elif table.axis is Axis.ENTITY:
            assert torch.equal(mine[:E], theirs) and (mine[E:] == 0).all()
        else:
            assert torch.equal(mine, theirs)


def test_statistics_of_training_are_kept():
    model = model_of("tucker")
    model.decomposition.norm0.num_batches_tracked.fill_(17)
    larger = grown(model, replace(model.sizes, entities=E + 1), np.arange(T))
    kept = [key for key in model.state_dict() if "norm" in key]
    assert len(kept) == 10
    for key in kept:
        assert torch.equal(larger.state_dict()[key], model.state_dict()[key])
    assert larger.training is False and next(larger.parameters()).dtype == torch.float64


def test_a_row_is_shortened_until_its_facts_are_likelier():
    """RotatE with a subject near zero: a row of mean length in the right direction is still too far away."""
    model = model_of("rotate")
    s, p, o, t = (torch.tensor([i]) for i in ROWS[0][:4])
    with torch.no_grad():
        model.decomposition.u.weight[4:] = 0
        model.decomposition.u.weight[int(s)] *= 1e-2
        before = model.score(s, p, o, t)
    place_unseen(model, facts(ROWS[:1]), SEEN)
    assert model.score(s, p, o, t) > before
