"""The settings of a training run: read from TOML, overridden one by one, checked, saved with the run."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from knowwhen.errors import BadRequest, did_you_mean
from knowwhen.facts.index.history import Lags
from knowwhen.models import EvidenceSettings


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ModelConfig(Section):
    """The decomposition."""

    name: Annotated[
        Literal["complex", "tcomplex", "tntcomplex", "unioncomplex", "timeplex", "cp", "distmult"],
        Field(description="Which one."),
    ] = "tntcomplex"
    rank: Annotated[int, Field(ge=1, description="Complex (for cp and distmult real) numbers per embedding.")] = 64
    undated: Annotated[
        Literal["sampled", "own"],
        Field(description="Facts without time are looked at at any timestamp, or own one outside the time axis."),
    ] = "sampled"
    evidence: Annotated[
        tuple[Literal["pair_history", "predicate_history", "context"], ...],
        Field(
            description="Evidence on top, near that time: of subject and object, of others under the same predicate, "
            "of the subject with others."
        ),
    ] = ()


class EvidenceConfig(Section):
    """What the terms in model.evidence look at."""

    lags: Annotated[
        tuple[int, ...],
        Field(min_length=1, description="Steps of distance in time, before and after; beyond the last is one more."),
    ] = (1, 3, 7, 15, 30, 90)
    width: Annotated[int, Field(ge=1, description="Rank of pair_history's kernel over lags and predicates.")] = 32
    window: Annotated[
        int, Field(ge=0, description="Facts further away, in units of the time axis, are no evidence; 0: all are.")
    ] = 0
    cap: Annotated[
        int,
        Field(ge=0, description="Facts looked at per question, by a shorter window for the busiest; 0: any number."),
    ] = 5000
    dropout: Annotated[
        float,
        Field(ge=0, lt=1, description="Share of training facts without evidence, so the decomposition learns alone."),
    ] = 0.0
    held_out: Annotated[
        float,
        Field(
            ge=0,
            lt=1,
            description="Share of training facts that only teach how far the rest of the model is to be believed.",
        ),
    ] = 0.0
    context_width: Annotated[int, Field(ge=1, description="Rank of context's kernel.")] = 8
    context_window: Annotated[int, Field(ge=0, description="As window, for context; 0: all facts are.")] = 7
    predicate_window: Annotated[int, Field(ge=0, description="As window, for predicate_history; 0: all facts are.")] = 7

    @field_validator("lags")
    @classmethod
    def _increase(cls, lags: tuple[int, ...]) -> tuple[int, ...]:
        return Lags(lags).edges  # an error before a run is begun with them

    def settings_of(self, term: str) -> EvidenceSettings:
        """What one of model.evidence looks at."""
        width, window = {
            "pair_history": (self.width, self.window),
            "predicate_history": (0, self.predicate_window),
            "context": (self.context_width, self.context_window),
        }[term]
        return EvidenceSettings(Lags(self.lags), width, window, self.cap)


class ObjectiveConfig(Section):
    """The losses."""

    time_weight: Annotated[
        float, Field(ge=0, description="Weight of the cross-entropy along time, for dated facts; 0 leaves it out.")
    ] = 0.0


class RegularizerConfig(Section):
    """The penalties."""

    embedding: Annotated[
        Literal["omega3", "delta2", "delta3", "delta4", "none"], Field(description="Penalty of the embeddings.")
    ] = "omega3"
    embedding_weight: Annotated[
        float, Field(ge=0, description="Its weight; omega3 is a third of the sum of cubes, as in the paper.")
    ] = 3e-2
    time_p: Annotated[float, Field(ge=1, description="Power p of the smoothness penalty over neighbouring times.")] = 3
    time_weight: Annotated[float, Field(ge=0, description="Its weight.")] = 1e-2
    time_gaps: Annotated[bool, Field(description="Divide it by the real gap between neighbouring timestamps.")] = False


class TrainingConfig(Section):
    """The optimizer and the machine."""

    epochs: Annotated[int, Field(ge=1, description="Passes over the facts, each in both directions.")] = 50
    batch_size: Annotated[int, Field(ge=1, description="Facts per step.")] = 1000
    learning_rate: Annotated[float, Field(gt=0, description="Of Adagrad.")] = 0.1
    averaging: Annotated[
        int, Field(ge=0, description="Steps over which weights are averaged for validation and the model; 0: none.")
    ] = 0
    precision: Annotated[
        Literal["fp32", "bf16"], Field(description="Of the matrix products; tables, softmax and optimizer are fp32.")
    ] = "fp32"
    seed: Annotated[int, Field(ge=0, description="Of initial values, order and sampled times.")] = 0
    threads: Annotated[int, Field(ge=0, description="Cores to use; 0 takes all, or one where steps are small.")] = 0
    device: Annotated[str, Field(pattern="^(cpu|cuda(:[0-9]+)?|mps)$", description="cpu, cuda or mps.")] = "cpu"


class ValidationConfig(Section):
    """When to look at the valid split, and when to stop."""

    every: Annotated[int, Field(ge=0, description="Epochs between two looks; 0 never looks.")] = 5
    patience: Annotated[int, Field(ge=0, description="Looks without a better MRR before stopping; 0 never stops.")] = 0


class Config(Section):
    """A whole run."""

    model: ModelConfig = ModelConfig()
    evidence: EvidenceConfig = EvidenceConfig()
    objective: ObjectiveConfig = ObjectiveConfig()
    regularizer: RegularizerConfig = RegularizerConfig()
    training: TrainingConfig = TrainingConfig()
    validation: ValidationConfig = ValidationConfig()

    @model_validator(mode="after")
    def _has_something_to_weigh(self) -> Config:
        if self.evidence.held_out and not {"pair_history", "predicate_history"} & set(self.model.evidence):
            raise ValueError("evidence.held_out needs pair_history or predicate_history in model.evidence")
        return self

    def to_toml(self) -> str:
        """All settings, one section after the other; JSON's scalars are TOML's too."""
        sections = self.model_dump()
        return "\n".join(
            f"[{section}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items())
            for section, values in sections.items()
        )


def read_config(source: str | Path | None, overrides: Mapping[str, object] | Iterable[str] = ()) -> Config:
    """The settings of a recipe (its name or a TOML file) with overrides `section.key=value` on top."""
    values: dict[str, Any] = _read_toml(source) if source is not None else {}
    for record in ("about", "data", "versions"):  # what a recipe says of itself, what a run notes beside its settings
        values.pop(record, None)
    pairs = overrides.items() if isinstance(overrides, Mapping) else map(parse_override, overrides)
    for name, value in pairs:
        section, _, key = name.partition(".")
        _check_key(section, key)
        values.setdefault(section, {})[key] = value
    try:
        return Config.model_validate(values)
    except ValidationError as error:
        raise BadRequest("; ".join(_explain(problem) for problem in error.errors())) from None


def settings() -> dict[str, dict[str, Any]]:
    """Every setting by `section.key`: its type, default, range and meaning, from which help and docs are made."""
    found = {}
    for section, field in Config.model_fields.items():
        assert isinstance(field.annotation, type) and issubclass(field.annotation, Section)
        schema = field.annotation.model_json_schema()["properties"]
        for key, values in schema.items():
            found[f"{section}.{key}"] = {k: v for k, v in values.items() if k != "title"}
    return found


def recipes() -> dict[str, Path]:
    """The recipes inside the package, by name."""
    folder = Path(str(resources.files("knowwhen"))) / "recipes"
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def _read_toml(source: str | Path) -> dict[str, Any]:
    path = recipes().get(str(source)) or Path(source)
    if not path.is_file():
        raise BadRequest(f"no recipe or file {str(source)!r}{did_you_mean(str(source), recipes())}")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadRequest(f"cannot read {path}: {error}") from error


def parse_override(text: str) -> tuple[str, object]:
    """('model.rank', 64) of 'model.rank=64'; a value that is not TOML is a string."""
    name, equals, value = text.partition("=")
    if not equals or "." not in name:
        raise BadRequest(f"--set {text!r} is not of the form section.key=value, such as model.rank=64")
    try:
        return name.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return name.strip(), value.strip()


def _check_key(section: str, key: str) -> None:
    name = f"{section}.{key}"
    if name not in settings():
        raise BadRequest(f"no setting {name!r}{did_you_mean(name, settings())}")


def _explain(problem: Any) -> str:
    name = ".".join(str(part) for part in problem["loc"])
    if not name:  # of several settings together
        return str(problem["ctx"]["error"])
    if problem["type"] == "extra_forbidden":
        return f"no setting {name!r}{did_you_mean(name, [*settings(), *Config.model_fields])}"
    return f"{name} is {problem['input']!r}: {problem['msg'][0].lower()}{problem['msg'][1:]}"
