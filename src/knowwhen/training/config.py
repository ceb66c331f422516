"""The settings of a training run: read from TOML, overridden one by one, checked, saved with the run.

Models and evidence terms own their options: `[model]` takes those of the chosen model beside its name, and each term
has a section `[evidence.TERM]`.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, field_validator, model_validator

from knowwhen.errors import BadRequest, did_you_mean
from knowwhen.models import EVIDENCE, MODELS, Options, Sizes, Specification, model_named
from knowwhen.models.build import term_named
from knowwhen.models.registry import code_of
from knowwhen.training.recipes import recipes

NOT_OF_THE_RESULT = ("training.threads", "training.device")
NOTES = ("about", "data", "versions")  # what a recipe says of itself, what a run notes beside its settings


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ModelConfig(Section):
    """The decomposition. Its own options are in the same section."""

    name: Annotated[str, Field(description="The model: a name, or module:Class for your own.")] = "tntcomplex"
    undated: Annotated[
        Literal["sampled", "own"],
        Field(description="Facts without a time get a random timestamp (sampled) or one of their own (own)."),
    ] = "sampled"
    evidence: Annotated[
        tuple[str, ...],
        Field(
            description="Evidence from single facts near the asked time: facts of the same subject and object "
            "(pair_history), of other subjects under the same predicate (predicate_history), of the subject "
            "with others (context), of entities that share a neighbour with it (path_history), of the object "
            "(object_profile), of the asked fact itself at other times (repeat_history)."
        ),
    ] = ()

    @field_validator("evidence")
    @classmethod
    def _known(cls, terms: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(term_named(term).name for term in terms)

    @property
    def options(self) -> dict[str, Any]:
        """The model's own options."""
        return {key: value for key, value in self.model_dump().items() if key not in ModelConfig.model_fields}


class EvidenceConfig(Section):
    """Settings of all terms in model.evidence. The options of a term are in the section evidence.TERM."""

    dropout: Annotated[
        float,
        Field(
            ge=0,
            lt=1,
            description="Fraction of training facts scored without evidence, so that the decomposition learns too.",
        ),
    ] = 0.0

    training: Annotated[
        Literal["joint", "apart"],
        Field(
            description="Train decomposition and evidence with one loss for their sum (joint), or with one loss each "
            "(apart); answers always use the sum."
        ),
    ] = "joint"
    leave_out: Annotated[
        Literal["holding", "itself"],
        Field(
            description="Facts that evidence ignores: those of subject and predicate that hold at the asked time "
            "(holding); or, in training only, the asked fact itself, with other true answers left out of the "
            "softmax (itself)."
        ),
    ] = "holding"
    learning_rate: Annotated[
        float, Field(ge=0, description="Learning rate of the evidence terms; 0: training.learning_rate.")
    ] = 0.0

    def of(self, term: str) -> dict[str, Any]:
        options: Options = getattr(self, term)
        return options.model_dump()


class CorrectionConfig(Section):
    """How much to trust decomposition and evidence, learned on held-out facts."""

    held_out: Annotated[
        float,
        Field(ge=0, lt=1, description="Fraction of training facts held out to train the correction; 0: no correction."),
    ] = 0.0


class ObjectiveConfig(Section):
    """The losses."""

    loss: Annotated[
        Literal["softmax", "binary", "margin", "negative_sampling"],
        Field(
            description="Loss: cross-entropy over candidates (softmax), binary cross-entropy of each (binary), "
            "margin ranking (margin), or log-sigmoid with negative samples (negative_sampling)."
        ),
    ] = "softmax"
    sampling: Annotated[
        Literal["none", "uniform", "auto", "each"],
        Field(
            description="Candidates in a step: all entities (none); the batch's targets and random entities, weighted "
            "to be unbiased (uniform); whichever of these is cheaper (auto); separate negatives for each fact "
            "(each), as margin and negative_sampling need."
        ),
    ] = "none"
    negatives: Annotated[
        int,
        Field(
            ge=0,
            description="Entities drawn per step, or per fact with sampling = each; 0: 1,024 per step, or 2,048 for "
            "50,000 entities and more.",
        ),
    ] = 0
    labels: Annotated[
        Literal["target", "known"],
        Field(
            description="Positive labels of binary: the fact's object (target, 1-vs-all), or all objects that train "
            "knows at that time (known, K-vs-all)."
        ),
    ] = "target"
    label_smoothing: Annotated[
        float,
        Field(
            ge=0, lt=1, description="Label smoothing, with binary: the fraction of a label spread over all candidates."
        ),
    ] = 0.0
    margin: Annotated[float, Field(ge=0, description="Margin γ of margin and negative_sampling.")] = 1.0
    adversarial: Annotated[
        float,
        Field(ge=0, description="Temperature of self-adversarial weights in negative_sampling; 0: equal weights."),
    ] = 0.0

    time_weight: Annotated[
        float, Field(ge=0, description="Weight of the cross-entropy over timestamps, for dated facts; 0: off.")
    ] = 0.0

    @model_validator(mode="after")
    def _fits_together(self) -> ObjectiveConfig:
        if self.loss in ("margin", "negative_sampling") and self.sampling != "each":
            raise ValueError(f"objective.loss = {self.loss} needs objective.sampling = each, not {self.sampling}")
        if self.loss == "binary" and self.sampling not in ("none", "each"):
            raise ValueError(f"objective.loss = binary goes with objective.sampling none or each, not {self.sampling}")
        if self.sampling == "each" and not self.negatives:
            raise ValueError("objective.sampling = each needs objective.negatives of at least 1")
        if self.labels == "known" and (self.loss, self.sampling) != ("binary", "none"):
            raise ValueError("objective.labels = known needs objective.loss = binary and objective.sampling = none")
        if self.label_smoothing and self.loss != "binary":
            raise ValueError(f"objective.label_smoothing needs objective.loss = binary, not {self.loss}")
        if self.adversarial and self.loss != "negative_sampling":
            raise ValueError(f"objective.adversarial needs objective.loss = negative_sampling, not {self.loss}")
        return self


class RegularizerConfig(Section):
    """The penalties."""

    embedding: Annotated[
        Literal["omega3", "delta2", "delta3", "delta4", "none"], Field(description="Penalty on the embeddings.")
    ] = "omega3"
    embedding_weight: Annotated[
        float,
        Field(ge=0, description="Weight of that penalty; omega3 is a third of the sum of cubes, as in the paper."),
    ] = 3e-2
    time_p: Annotated[
        float, Field(ge=1, description="Power p of the smoothness penalty on neighbouring timestamps.")
    ] = 3
    time_weight: Annotated[float, Field(ge=0, description="Weight of the smoothness penalty.")] = 1e-2
    time_gaps: Annotated[bool, Field(description="Divide the smoothness penalty by the gaps between timestamps.")] = (
        False
    )


class TrainingConfig(Section):
    """The optimizer and the machine."""

    epochs: Annotated[int, Field(ge=1, description="Passes over the training facts, in both directions.")] = 50
    batch_size: Annotated[int, Field(ge=1, description="Facts per step.")] = 1000
    optimizer: Annotated[Literal["adagrad", "adam"], Field(description="Optimizer.")] = "adagrad"
    learning_rate: Annotated[float, Field(gt=0, description="Learning rate.")] = 0.1
    averaging: Annotated[
        int, Field(ge=0, description="Keep a moving average of the weights over about this many steps; 0: off.")
    ] = 0
    precision: Annotated[
        Literal["fp32", "bf16"], Field(description="Precision of matrix products; everything else is fp32.")
    ] = "fp32"
    seed: Annotated[int, Field(ge=0, description="Seed of initial values, order of facts and sampled times.")] = 0
    threads: Annotated[int, Field(ge=0, description="Cores to use; 0: all, or one if steps are small.")] = 0
    device: Annotated[str, Field(pattern="^(cpu|cuda(:[0-9]+)?|mps)$", description="cpu, cuda or mps.")] = "cpu"


class ValidationConfig(Section):
    """When to validate, and when to stop early."""

    every: Annotated[int, Field(ge=0, description="Epochs between validations; 0: never.")] = 5
    sample: Annotated[int, Field(ge=0, description="Validate on this many facts, the same ones each time; 0: all.")] = 0
    patience: Annotated[
        int, Field(ge=0, description="Early stopping: stop after this many validations without a better MRR; 0: off.")
    ] = 0


class DatingConfig(Section):
    """The time head, which answers when a fact begins and ends. It is trained last."""

    passes: Annotated[
        int, Field(ge=0, description="Passes over the dated facts to train the time head; 0: no time head.")
    ] = 0


class Config(Section):
    """All settings of a run; `read_config` makes it, with the options of the chosen model."""

    model: ModelConfig
    evidence: EvidenceConfig
    correction: CorrectionConfig = CorrectionConfig()
    objective: ObjectiveConfig = ObjectiveConfig()
    regularizer: RegularizerConfig = RegularizerConfig()
    training: TrainingConfig = TrainingConfig()
    validation: ValidationConfig = ValidationConfig()
    dating: DatingConfig = DatingConfig()

    @model_validator(mode="after")
    def _has_something_to_correct(self) -> Config:
        if self.correction.held_out and not any(EVIDENCE[term].is_sparse for term in self.model.evidence):
            some = " or ".join(name for name, term in EVIDENCE.items() if term.is_sparse)
            raise ValueError(f"correction.held_out needs {some} in model.evidence")
        return self

    def specification(self, sizes: Sizes) -> Specification:
        """What is to be built, without a correction, which is learned later."""
        evidence = {term: self.evidence.of(term) for term in self.model.evidence}
        model = model_named(self.model.name)
        return Specification(
            model.name,
            sizes,
            self.model.options,
            evidence,
            apart=self.evidence.training == "apart" and bool(evidence),
            leave_out=self.evidence.leave_out,
            code=code_of(model),
        )

    def flat(self) -> dict[str, Any]:
        """Every setting by full name, as JSON types."""
        return dict(_flat(self.model_dump(mode="json")))

    def to_toml(self) -> str:
        """All settings, section by section."""
        return to_toml(self.model_dump(mode="json"))


def config_class(model: str, terms: tuple[str, ...]) -> type[Config]:
    """The settings of a run with that model: its options are checked beside all others."""
    return _config_class(model, model_named(model).Options, terms)


@lru_cache
def _config_class(model: str, options: type[Options], terms: tuple[str, ...]) -> type[Config]:
    # By class, not by name alone: in a notebook, a model is registered again after each change.
    fields: dict[str, Any] = {key: (field.annotation, field) for key, field in options.model_fields.items()}
    section = create_model("ModelConfig", __base__=ModelConfig, **fields)
    sections: dict[str, Any] = {name: (EVIDENCE[name].Options, EVIDENCE[name].Options()) for name in terms}
    evidence = create_model("EvidenceConfig", __base__=EvidenceConfig, **sections)
    return create_model(
        "Config", __base__=Config, model=(section, section(name=model)), evidence=(evidence, evidence())
    )


def read_config(
    source: str | Path | None, overrides: Mapping[str, object] | Iterable[str] = (), *, allow_import: bool = False
) -> Config:
    """The settings of a recipe (its name or a TOML file) with overrides `section.key=value` on top.

    A model of your own, module:Class, is imported where `allow_import` says so.
    """
    values: dict[str, Any] = read_toml(source, recipes(), "recipe") if source is not None else {}
    for note in NOTES:
        values.pop(note, None)
    pairs = overrides.items() if isinstance(overrides, Mapping) else map(parse_override, overrides)
    for name, value in pairs:
        _put(values, name, value)
    model = values["model"] if isinstance(values.get("model"), dict) else {}
    name = str(model.get("name", ModelConfig.model_fields["name"].default))
    found = model_named(name, allow_import=allow_import)
    if found.name != name:  # my_module:MyModel is known by its name from here on
        model["name"] = name = found.name
    try:
        return config_class(name, tuple(EVIDENCE)).model_validate(values)
    except ValidationError as error:
        raise BadRequest("; ".join(_explain(problem, name) for problem in error.errors())) from None


def _put(values: dict[str, Any], name: str, value: object) -> None:
    """values[section][key] = value; a section that is no table is left for the check to find."""
    *sections, key = name.split(".")
    for section in sections:
        values = values.setdefault(section, {})
        if not isinstance(values, dict):
            raise BadRequest(f"no setting {name!r}: there is no section {section!r}")
    values[key] = value


def settings(model: str | None = None) -> dict[str, dict[str, Any]]:
    """Every setting by full name: its type, default, range and meaning, from which help and docs are made.

    With the options of one model, or of all there are.
    """
    found: dict[str, dict[str, Any]] = {}
    for name in [model] if model else list(MODELS):
        found |= {key: value for key, value in _described(config_class(name, tuple(EVIDENCE))) if key not in found}
    return found


def _described(section: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    schema = section.model_json_schema()["properties"]
    for key, field in section.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _described(field.annotation, f"{prefix}{key}.")
        else:
            yield prefix + key, {k: v for k, v in schema[key].items() if k != "title"}


def to_toml(values: Mapping[str, Any], prefix: str = "") -> str:
    """Tables of scalars and lists as TOML; JSON's scalars are TOML's too."""
    lines = []
    for name, section in values.items():
        plain = {key: value for key, value in section.items() if not isinstance(value, dict)}
        tables = {key: value for key, value in section.items() if isinstance(value, dict)}
        lines.append(f"[{prefix}{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in plain.items()))
        if tables:
            lines.append(to_toml(tables, f"{prefix}{name}."))
    return "\n".join(lines)


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def read_toml(source: str | Path, named: Mapping[str, Path], kind: str) -> dict[str, Any]:
    """The values of a TOML file, or of one that has a name."""
    path = named.get(str(source)) or Path(source)
    if not path.is_file():
        raise BadRequest(f"no {kind} or file {str(source)!r}{did_you_mean(str(source), named)}")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BadRequest(f"cannot read {path}: {error}") from error


def parse_override(text: str) -> tuple[str, object]:
    """('model.rank', 64) of 'model.rank=64'; a value that is not TOML is a string."""
    name, equals, value = text.partition("=")
    if not equals or "." not in name:
        raise BadRequest(f"--set is {text!r}; expected section.key=value, such as model.rank=64")
    try:
        return name.strip(), tomllib.loads(f"value = {value}")["value"]
    except (ValueError, RecursionError):
        return name.strip(), value.strip()


def full_name(name: str) -> str:
    """'model.rank' of 'rank'; `model` alone means its name, and names that two sections have must be given in full."""
    if "." in name:
        return name
    if name == "model":
        return "model.name"
    last = {full: full.rpartition(".")[2] for full in settings()}
    matches = [full for full, key in last.items() if key == name]
    if not matches:
        raise BadRequest(f"no setting {name!r}{did_you_mean(name, last.values())}")
    if len(matches) > 1:
        raise BadRequest(f"{name!r} is ambiguous: {' or '.join(matches)}; give the full name in overrides={{…}}")
    return matches[0]


def _explain(problem: Any, model: str) -> str:
    name = ".".join(str(part) for part in problem["loc"])
    if not name or problem["type"] == "value_error":  # of several settings together
        return str(problem.get("ctx", {}).get("error", problem["msg"]))
    if problem["type"] == "extra_forbidden":
        names = settings(model)
        sections = {part for full in names for part in (full.partition(".")[0], full.rpartition(".")[0])}
        of_model = f" of {model}" if name.startswith("model.") else ""
        return f"no setting {name!r}{of_model}{did_you_mean(name, [*names, *sorted(sections)])}"
    return f"{name} is {problem['input']!r}: {problem['msg'][0].lower()}{problem['msg'][1:]}"
