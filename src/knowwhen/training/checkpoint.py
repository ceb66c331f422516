"""All state of training as tensors and JSON, both ways, for every optimizer and every module."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from knowwhen.errors import DamagedFile
from knowwhen.models import Axis, TemporalModel
from knowwhen.models.tables import tables_of
from knowwhen.training.loop import Learner

Tensors = dict[str, Tensor]


def gather(learner: Learner) -> tuple[Tensors, dict[str, Any]]:
    """Tensors of model (buffers too), optimizer and averages; and what of the optimizer is no tensor."""
    tensors = {f"model.{name}": tensor for name, tensor in learner.model.state_dict().items()}
    tensors |= learner.averages.state()
    state = learner.optimizer.state_dict()
    numbers: dict[str, Any] = {}
    for i, values in state["state"].items():
        for key, value in values.items():
            kept = tensors if isinstance(value, Tensor) else numbers
            kept[f"optimizer.{i}.{key}"] = value
    return on_cpu(tensors), {"groups": state["param_groups"], "numbers": numbers}


def restore(learner: Learner, tensors: Tensors, values: dict[str, Any]) -> None:
    """Puts what `gather` gave in place."""
    try:
        weights(
            learner.model, {name.removeprefix("model."): x for name, x in tensors.items() if name.startswith("model.")}
        )
        learner.averages.load(tensors)
        state: dict[int, dict[str, Any]] = {}
        for name, value in (tensors | values["numbers"]).items():
            if name.startswith("optimizer."):
                _, i, key = name.split(".", 2)
                state.setdefault(int(i), {})[key] = value
        learner.optimizer.load_state_dict({"state": state, "param_groups": values["groups"]})
    except (KeyError, ValueError, RuntimeError) as error:
        raise of_another_version(learner.model) from error


def split_rows(model: TemporalModel) -> dict[str, int]:
    """Of parameters of which other processes hold rows, how many rows there are in all."""
    tables = tables_of(model).items()
    return {f"{name}.weight": table.rows for name, table in tables if table.axis is Axis.ENTITY}


def split_state(learner: Learner, tensors: Tensors) -> dict[str, int]:
    """The same for all that `gather` gave."""
    rows, found = split_rows(learner.model), dict[str, int]()
    for i, (name, parameter) in enumerate(learner.model.named_parameters()):
        keys = [f"model.{name}", f"average.{name}", f"average_known.{name}"]
        keys += [key for key in tensors if key.startswith(f"optimizer.{i}.") and tensors[key].dim()]
        if name in rows:
            found |= {key: rows[name] for key in keys if key in tensors}
            assert all(len(tensors[key]) in (len(parameter), rows[name]) for key in keys if key in tensors)
    return found


def weights(model: TemporalModel, tensors: Tensors) -> None:
    """Fills a model; every tensor must be there, of its shape and type, and no other."""
    expected = model.state_dict()
    alike = expected.keys() == tensors.keys() and all(
        (tensors[name].shape, tensors[name].dtype) == (tensor.shape, tensor.dtype) for name, tensor in expected.items()
    )
    if not alike:
        raise of_another_version(model)
    model.load_state_dict(tensors)


def on_cpu(tensors: Tensors) -> Tensors:
    return {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}


def of_another_version(model: TemporalModel) -> DamagedFile:
    return DamagedFile(f"the weights do not match this version of {model.name}; train again")
