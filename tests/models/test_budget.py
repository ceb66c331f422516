import pytest

from knowwhen.errors import BadRequest, UnknownModel
from knowwhen.models import MODELS, Sizes, Specification, build, model_named
from knowwhen.models.budget import paper_parameter_count, paper_rank, rank_for_budget, stored

PAPER = {  # |E|, |P|, |T| as the paper counts them, and its ranks (appendix, grid search)
    "icews14": ((6869, 460, 365), {"complex": 182, "tcomplex": 174, "tntcomplex": 156}),
    "icews05-15": ((10094, 502, 4017), {"complex": 186, "tcomplex": 136, "tntcomplex": 128}),
    "yago15k": ((15403, 204, 170), {"complex": 196, "tcomplex": 194, "tntcomplex": 189}),
}


@pytest.mark.parametrize("dataset", PAPER)
@pytest.mark.parametrize("model", ["complex", "tcomplex", "tntcomplex"])
def test_the_ranks_of_the_paper_come_out_of_its_table(dataset, model):
    sizes, ranks = PAPER[dataset]
    assert paper_rank(model, *sizes) == ranks[model]


def test_true_counts_are_what_is_stored():
    model = build(Specification("tntcomplex", Sizes(7128, 230, 365), {"rank": 156}))
    assert model.parameter_count() == 2 * 156 * (7128 + 2 * 2 * 230 + 365) == 2_624_856
    assert paper_parameter_count("tntcomplex", 156, 6869, 460, 365) == 2_831_088


@pytest.mark.parametrize("name", sorted(MODELS))
def test_a_rank_for_a_budget_is_the_largest_that_fits(name):
    sizes = Sizes(100, 7, 13)
    rank = rank_for_budget(MODELS[name], sizes, 10_000)
    assert stored(MODELS[name], sizes, rank) <= 10_000 < stored(MODELS[name], sizes, rank + 1)


def test_requests_that_cannot_be_met():
    with pytest.raises(BadRequest, match=r"complex needs 228 parameters at rank 1; the budget is 100"):
        rank_for_budget(MODELS["complex"], Sizes(100, 7, 13), 100)
    with pytest.raises(BadRequest, match="the paper has no formula for 'cp'"):
        paper_parameter_count("cp", 1, 1, 1, 1)
    with pytest.raises(UnknownModel, match=r"no model 'tntcomplx'; expected .*did you mean 'tntcomplex'\?"):
        model_named("tntcomplx")
