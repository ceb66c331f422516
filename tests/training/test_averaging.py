"""The moving average of weights: by its definition, in checkpoints, and as the model that is kept."""

import pytest
import torch
from torch.testing import assert_close

import knowwhen as kw
from knowwhen.training.averaging import AveragingAdagrad

SMALL = {"model.rank": 4, "training.epochs": 3, "training.batch_size": 500, "validation.every": 1}


def test_the_average_is_that_of_the_definition():
    table = torch.nn.Parameter(torch.tensor([[1.0, -2.0]]))
    optimizer = AveragingAdagrad([table], lr=0.5, fused=True, steps=4)
    average = table.detach().clone()
    for _ in range(5):
        optimizer.zero_grad()
        table.square().sum().backward()
        optimizer.step()
        average += (table.detach() - average) / 4
    last = table.detach().clone()
    with optimizer.averaged():
        assert_close(table.detach(), average)
    assert_close(table.detach(), last, rtol=0, atol=0)
    with pytest.raises(ValueError, match="inside"), optimizer.averaged():
        raise ValueError("inside")
    assert_close(table.detach(), last, rtol=0, atol=0)


def test_without_averaging_steps_are_those_of_adagrad():
    ours, theirs = (torch.nn.Parameter(torch.tensor([1.0, -2.0])) for _ in range(2))
    optimizers = AveragingAdagrad([ours], 0.1, fused=True, steps=0), torch.optim.Adagrad([theirs], 0.1, fused=True)
    for table, optimizer in zip((ours, theirs), optimizers, strict=True):
        table.square().sum().backward()
        optimizer.step()
    assert_close(ours, theirs, rtol=0, atol=0)
    with optimizers[0].averaged():
        assert_close(ours, theirs, rtol=0, atol=0)


@pytest.mark.parametrize("every", [0, 1])
def test_the_model_of_a_run_is_the_average_and_resumes(tmp_path, every):
    settings = {**SMALL, "training.averaging": 10, "validation.every": every}
    whole = kw.train("leaders", run=tmp_path / "whole", overrides=settings)
    kw.train("leaders", run=tmp_path / "parts", overrides={**settings, "training.epochs": 1})
    parts = kw.train(None, run=tmp_path / "parts", resume=True, overrides={"training.epochs": 3})
    plain = kw.train("leaders", run=tmp_path / "plain", overrides={**settings, "training.averaging": 0})
    assert_close(parts.model.entity, whole.model.entity, rtol=0, atol=0)
    assert (plain.model.entity != whole.model.entity).any()
    assert_close(kw.open(tmp_path / "whole").model.entity, whole.model.entity, rtol=0, atol=0)
    if every:
        assert whole.evaluate("valid").mrr == whole.info()["best_valid_mrr"]
    # The steps themselves are the same: only what is looked at and kept differs.
    assert [record["loss"] for record in plain.history] == [record["loss"] for record in whole.history]
