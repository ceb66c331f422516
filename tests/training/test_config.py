import tomllib

import pytest

import knowwhen as kw
from knowwhen.errors import BadRequest
from knowwhen.models import MODELS, Sizes
from knowwhen.training.config import Config, read_config, settings
from knowwhen.training.recipes import recipes


def test_overrides_win_over_the_recipe_and_both_over_defaults():
    config = read_config("leaders", ["model.rank=8", "training.seed=3", "regularizer.embedding=none"])
    assert (config.model.rank, config.training.seed, config.regularizer.embedding) == (8, 3, "none")
    assert config.objective.time_weight == 1.0  # the recipe's
    assert config.training.learning_rate == 0.1  # the default


def test_a_config_written_as_toml_reads_back(tmp_path):
    config = read_config(None, ["model.rank=7", "regularizer.embedding_weight=1e-2", "regularizer.time_gaps=true"])
    (tmp_path / "c.toml").write_text(config.to_toml())
    assert read_config(tmp_path / "c.toml") == config


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("model.rnk=4", r"no setting 'model.rnk' of tntcomplex; did you mean 'model.rank'\?"),
        ("modl.rank=4", r"no setting 'modl'; did you mean 'model'\?"),
        ("model.rank=0", "model.rank is 0: input should be greater than or equal to 1"),
        ("model.rank=big", "model.rank is 'big': input should be a valid integer"),
        ("training.learning_rate=0", "training.learning_rate is 0: input should be greater than 0"),
        ("regularizer.embedding=omega4", "regularizer.embedding is 'omega4': input should be 'omega3'"),
        ("training.device=gpu", "training.device is 'gpu'"),
        ("rank=4", "expected section.key=value, such as"),
        ("model.rank", "expected section.key=value, such as"),
    ],
)
def test_settings_that_do_not_exist_or_fit(override, message):
    with pytest.raises(BadRequest, match=message):
        read_config(None, [override])


def test_typos_in_a_file_name_the_nearest_setting(tmp_path):
    (tmp_path / "c.toml").write_text("[model]\nrnk = 4\n")
    with pytest.raises(BadRequest, match=r"no setting 'model.rnk' of tntcomplex; did you mean 'model.rank'\?"):
        read_config(tmp_path / "c.toml")
    (tmp_path / "c.toml").write_text("[model\n")
    with pytest.raises(BadRequest, match="cannot read"):
        read_config(tmp_path / "c.toml")
    with pytest.raises(BadRequest, match=r"no recipe or file 'leader'; did you mean 'leaders'\?"):
        read_config("leader")


def test_every_setting_says_what_it_means():
    assert len(settings()) >= 17
    assert all(values["description"].endswith(".") and "default" in values for values in settings().values())


def test_every_model_can_be_chosen():
    for name, model in MODELS.items():
        config = read_config(None, {"model.name": name})
        assert set(config.model.options) == set(model.Options.model_fields)
        (spec,) = [config.specification(Sizes(2, 1, 1))]
        assert (spec.model, spec.options) == (name, config.model.options)


def test_options_belong_to_the_model_that_has_them():
    assert read_config(None, ["model.name=transe", "model.norm=2"]).model.options["norm"] == 2
    with pytest.raises(BadRequest, match=r"no setting 'model.norm' of tntcomplex"):
        read_config(None, ["model.norm=2"])
    with pytest.raises(
        BadRequest, match=r"no setting 'evidence.context.widht'; did you mean 'evidence.context.width'\?"
    ):
        read_config(None, ["evidence.context.widht=2"])
    with pytest.raises(BadRequest, match=r"no evidence term 'pair_histroy'; .*did you mean 'pair_history'\?"):
        read_config(None, {"model.evidence": ["pair_histroy"]})
    with pytest.raises(BadRequest, match="model is 3: input should be a valid dictionary"):
        read_config(None, {"model": 3})


@pytest.mark.parametrize("name", sorted(recipes()))
def test_every_recipe_is_a_config_and_says_for_which_data(name):
    assert isinstance(read_config(name), Config)
    about = tomllib.loads(recipes()[name].read_text())["about"]
    assert about["data"] in name


def test_there_is_a_recipe_for_every_row_of_the_papers_tables():
    names = {
        f"lacroix2020-{model}-{data}{size}"
        for model in ("complex", "tcomplex", "tntcomplex")
        for data in ("icews14", "icews05-15", "yago15k")
        for size in ("", "-x10")
    }
    assert names <= set(recipes())


def test_short_names_of_settings():
    with pytest.raises(BadRequest, match=r"no setting 'rnk'; did you mean 'rank'\?"):
        kw.train("leaders", rnk=3)
    with pytest.raises(
        BadRequest, match=r"'time_weight' is ambiguous: objective.time_weight or regularizer.time_weight"
    ):
        kw.train("leaders", time_weight=3)
