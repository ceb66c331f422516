"""Spaces: how they are written, what is refused before anything runs, and the grids they have."""

import pytest

from knowwhen.errors import BadRequest
from knowwhen.training.config import read_config
from knowwhen.training.recipes import recipes
from knowwhen.tuning.space import Choices, Range, problem, read_space, spaces

WEIGHT = "regularizer.embedding_weight"


def config_of(point, recipe="leaders"):
    return read_config(recipe, point)


def read(text, tmp_path, **options):
    path = tmp_path / "space.toml"
    path.write_text(text)
    return read_space(path, lambda point: config_of({**options, **point}))


@pytest.mark.parametrize(
    "text",
    [
        "regularizer.embedding_weight = { low = 1e-4, high = 1, log = true }\nmodel.rank = [4, 8]\n",
        "[regularizer]\nembedding_weight = { low = 1e-4, high = 1, log = true }\n[model]\nrank = [4, 8]\n",
        '"regularizer.embedding_weight" = { low = 1e-4, high = 1, log = true }\n"model.rank" = [4, 8]\n',
        "[regularizer.embedding_weight]\nlow = 1e-4\nhigh = 1\nlog = true\n[model]\nrank = [4, 8]\n[about]\n",
    ],
)
def test_a_space_is_written_as_settings_are(text, tmp_path):
    space = read(text, tmp_path)
    assert dict(space.axes) == {WEIGHT: Range(1e-4, 1.0, log=True), "model.rank": Choices((4, 8))}
    assert space.to_json() == {WEIGHT: {"low": 1e-4, "high": 1.0, "log": True}, "model.rank": [4, 8]}


def test_ranges_of_integers_and_lists_of_lists():
    space = read_space(
        {"model.rank": {"low": 8, "high": 64, "log": True}, "model.evidence": [[], ["pair_history"]]}, config_of
    )
    assert space.axes["model.rank"] == Range(8, 64, log=True, whole=True)
    assert space.axes["model.evidence"].ends == ([], ["pair_history"])


@pytest.mark.parametrize(
    ("space", "message"),
    [
        ({"regularizer.embeding_weight": [1]}, r"no setting '\S+' to search; did you mean 'regularizer.embedding_weig"),
        ({"regularzer": {"embedding_weight": [1]}}, "no setting 'regularzer.embedding_weight' to search; did you mean"),
        ({"model.filters": [1]}, "no setting 'model.filters' to search"),  # of another model
        ({}, "it names no settings to search"),
        ({"model.rank": 8}, "model.rank is 8; expected a list of values or a range"),
        ({"model.rank": []}, "model.rank is an empty list; expected the values to try"),
        ({"model.rank": [8, 4, 8]}, "model.rank has 8 twice"),
        ({"model.rank": [8, 0]}, "model.rank is 0: input should be greater than or equal to 1"),
        ({"model.rank": {"low": 0, "high": 8}}, "model.rank is 0: input should be greater than or equal to 1"),
        ({"model.rank": {"low": 1, "high": 8.5}}, "model.rank has high = 8.5; expected a whole number"),
        ({"model.rank": {"low": 8, "high": 4}}, "model.rank goes from 8 to 4; expected low below high"),
        ({"model.rank": {"min": 1, "max": 8}}, "model.rank is {'min': 1, 'max': 8}; expected { low = …, high = … }"),
        ({"model.rank": {"low": 1, "high": 8, "step": 9}}, "model.rank has step = 9; expected one above 0 that fits"),
        ({WEIGHT: {"low": 0, "high": 1, "log": True}}, "has low = 0 and log = true; expected low above 0"),
        ({WEIGHT: {"low": 0.1, "high": 1, "log": 1}}, "has log = 1; expected true or false"),
        ({WEIGHT: {"low": 0.1, "high": float("inf")}}, "goes from 0.1 to inf; expected low below high"),
        ({WEIGHT: {"low": 0.1, "high": 1, "log": True, "step": 0.1}}, "has step = 0.1; expected one above 0 that fits"),
        ({WEIGHT: {"low": True, "high": 2}}, "has low = True; expected a number"),
        ({"regularizer.embedding": {"low": 0, "high": 1}}, "regularizer.embedding is not a number; expected a list of"),
        ({"regularizer.embedding": ["omega3", "omega4"]}, "regularizer.embedding is 'omega4': input should be"),
        ({"validation.sample": [10, 20]}, "validation.sample cannot be searched: trials would be measured differently"),
        ({"dating.passes": [1, 2]}, "dating.passes cannot be searched: trials learn no time head"),
        ({"training.device": ["cpu"]}, "training.device cannot be searched: it does not change the result"),
        ({"model.name": ["tcomplex", "tntcomplx"]}, "tntcomplx"),
        ({"correction.held_out": [0.1]}, "correction.held_out needs pair_history"),  # and the recipe has no evidence
    ],
)
def test_what_is_wrong_is_said_before_anything_runs(space, message):
    with pytest.raises(BadRequest, match=r"^space: ") as raised:
        read_space(space, config_of)
    assert raised.match(message)


@pytest.mark.parametrize(
    ("source", "message"),
    [("basc", "no space or file 'basc'; did you mean 'basic'"), ("broken.toml", "cannot read broken.toml")],
)
def test_a_space_that_cannot_be_read(source, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.toml").write_text("model.rank = [")
    with pytest.raises(BadRequest, match=message):
        read_space(source, config_of)


def test_values_may_need_each_other():
    """margin needs sampling = each: valid beside it, not in the recipe as it is."""
    space = read_space(
        {"objective.loss": ["softmax", "margin"], "objective.sampling": ["none", "each"], "objective.negatives": [4]},
        config_of,
    )
    points = space.points(lambda point: not problem(config_of, point))
    assert [tuple(point.values()) for point in points] == [
        ("softmax", "none", 4),
        ("softmax", "each", 4),
        ("margin", "each", 4),  # and not ("margin", "none", 4)
    ]
    with pytest.raises(BadRequest, match=r"space: objective.loss = margin needs objective.sampling = each"):
        read_space({"objective.loss": ["softmax", "margin"], "objective.negatives": [4]}, config_of)


def test_options_of_all_models_that_are_tried_may_be_searched():
    space = read_space({"model.name": ["transe", "rotate"], "model.norm": [1, 2]}, config_of)
    assert list(space.axes) == ["model.name", "model.norm"]


def test_a_grid_takes_lists_integers_and_steps():
    space = read_space(
        {"model.rank": {"low": 1, "high": 3}, WEIGHT: {"low": 0.1, "high": 0.35, "step": 0.1}}, config_of
    )
    points = space.points(lambda point: True)
    assert [tuple(point.values()) for point in points] == [(r, w) for r in (1, 2, 3) for w in (0.1, 0.2, 0.3)]
    endless = read_space({WEIGHT: {"low": 0.1, "high": 1}}, config_of)
    with pytest.raises(BadRequest, match=f"a grid needs a list of values for {WEIGHT}, or a range with a step"):
        endless.points(lambda point: True)
    large = read_space({name: {"low": 1, "high": 1000} for name in ("model.rank", "training.epochs")}, config_of)
    with pytest.raises(BadRequest, match="the grid has 1,000,000 points; search it with --sampler random or tpe"):
        large.points(lambda point: True)


USED_WITH = {"evidence": "evidence-leaders", "negatives": "goel2020-desimple-icews14"}


@pytest.mark.parametrize("name", spaces())
def test_every_bundled_space_fits_a_recipe(name):
    recipe = USED_WITH.get(name, "leaders")
    assert recipe in recipes()
    space = read_space(name, lambda point: config_of(point, recipe))
    assert len(space.axes) >= 2
    if name in ("lacroix2020", "field"):
        assert len(space.points(lambda point: True)) == {"lacroix2020": 30, "field": 9}[name]
