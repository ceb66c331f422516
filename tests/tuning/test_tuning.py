"""Points, grids of them, trials that are trained once, and the choice that valid makes."""

from pathlib import Path

import pytest

from knowwhen.errors import RunError
from knowwhen.training.config import read_config
from knowwhen.tuning.space import grid, point_of
from knowwhen.tuning.study import Trial, check_point, choose, train_point

SMALL = {"model.rank": 4, "training.epochs": 2, "training.batch_size": 500, "dating.passes": 0}


def test_a_grid_has_every_combination_once():
    points = grid({"model.rank": (1, 2, 3), "training.seed": (0, 1)})
    assert points[:3] == [{"model.rank": r, "training.seed": s} for r, s in ((1, 0), (1, 1), (2, 0))]
    assert len({tuple(point.values()) for point in points}) == len(points) == 6
    assert grid({}) == [{}]  # the recipe as it is


def test_the_point_of_a_run_gives_its_settings_again():
    config = read_config("leaders", {"model.rank": 7, "model.evidence": ["context"]})
    point = point_of(config)
    assert point["model.rank"] == 7 and point["model.evidence"] == ["context"]
    assert read_config(None, point) == config


def test_valid_chooses_and_the_first_of_equals_wins():
    scores = (0.3, 0.5, 0.5, 0.1)
    trials = [Trial(point={"model.rank": i}, valid_mrr=mrr, folder=Path(f"{i}")) for i, mrr in enumerate(scores)]
    assert choose(trials).point == {"model.rank": 1}


def test_a_point_is_trained_then_resumed_and_no_other_takes_its_folder(tmp_path):
    folder = tmp_path / "run"
    check_point("leaders", SMALL, folder)  # there is nothing yet
    first = train_point("leaders", "leaders", SMALL, folder)
    again = train_point("leaders", "leaders", SMALL, folder)
    assert (first.info()["rank"], first.info()["epochs"]) == (4, 2)
    assert again.records == first.records and len((folder / "timing.jsonl").read_text().splitlines()) == 2
    check_point("leaders", {**SMALL, "training.threads": 1}, folder)  # changes no number
    with pytest.raises(
        RunError, match=r"run was run with other settings \(model.rank, training.epochs\); move it away"
    ):
        train_point("leaders", "leaders", {**SMALL, "model.rank": 5, "training.epochs": 3}, folder)
