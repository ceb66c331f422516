"""Optimizers, and the moving average of weights: by its definition, in checkpoints, as the model that is kept."""

import pytest
import torch
from torch.testing import assert_close

import knowwhen as kw
from knowwhen.training.config import read_config
from knowwhen.training.optimizers import Averages, RowAdagrad, optimizer_for

SMALL = {"model.rank": 4, "training.epochs": 3, "training.batch_size": 500, "validation.every": 1}


class One(torch.nn.Module):
    def __init__(self, *values):
        super().__init__()
        self.table = torch.nn.Parameter(torch.tensor(values))


def test_the_average_is_that_of_the_definition():
    model = One(1.0, -2.0)
    table, averages = model.table, Averages(model, steps=4)
    average = table.detach().clone()
    for i in range(5):
        with torch.no_grad():
            table.mul_(0.5).add_(i)
        averages.update({})
        average += (table.detach() - average) / 4
    last = table.detach().clone()
    with averages.applied():
        assert_close(table.detach(), average)
    assert_close(table.detach(), last, rtol=0, atol=0)
    with pytest.raises(ValueError, match="inside"), averages.applied():
        raise ValueError("inside")
    assert_close(table.detach(), last, rtol=0, atol=0)


def test_without_averaging_nothing_is_kept_or_changed():
    model = One(1.0, -2.0)
    averages = Averages(model, steps=0)
    averages.update({})
    with averages.applied():
        assert model.table.tolist() == [1, -2]
    assert averages.tensors == {}


@pytest.mark.parametrize(("name", "kind"), [("adagrad", RowAdagrad), ("adam", torch.optim.Adam)])
def test_optimizers_are_chosen_by_name(name, kind):
    config = read_config(None, {"training.optimizer": name, "training.learning_rate": 0.25})
    optimizer = optimizer_for(One(1.0), config)
    assert type(optimizer) is kind
    assert optimizer.param_groups[0]["lr"] == 0.25


@pytest.mark.parametrize("every", [0, 1])
def test_the_model_of_a_run_is_the_average_and_resumes(tmp_path, every):
    settings = {**SMALL, "training.averaging": 10, "validation.every": every}
    whole = kw.train("leaders", run=tmp_path / "whole", overrides=settings)
    kw.train("leaders", run=tmp_path / "parts", overrides={**settings, "training.epochs": 1})
    parts = kw.train(None, run=tmp_path / "parts", resume=True, overrides={"training.epochs": 3})
    plain = kw.train("leaders", run=tmp_path / "plain", overrides={**settings, "training.averaging": 0})
    assert_close(parts.model.decomposition.u.weight, whole.model.decomposition.u.weight, rtol=0, atol=0)
    assert (plain.model.decomposition.u.weight != whole.model.decomposition.u.weight).any()
    assert_close(
        kw.open(tmp_path / "whole").model.decomposition.u.weight, whole.model.decomposition.u.weight, rtol=0, atol=0
    )
    if every:
        assert whole.evaluate("valid").mrr == whole.info()["best_valid_mrr"]
    # The steps themselves are the same: only what is looked at and kept differs.
    assert [record["loss"] for record in plain.records] == [record["loss"] for record in whole.records]
