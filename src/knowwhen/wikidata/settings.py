"""What a user decides: what is extracted from a dump, and which of it makes the dataset."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, field_validator

from knowwhen.errors import BadRequest
from knowwhen.facts.dates import Granularity

HELD_OUT = 50_000  # facts in each of valid and test (Lacroix et al. 2020, section 4) …
SMALL = 0.1  # … but no more than this share of all


class ExtractionSettings(BaseModel):
    """What is taken from a dump, and how the work is divided."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    lang: str = Field(default="en", min_length=1, description="Language of the labels; where it has none, mul and en.")
    part: int = Field(default=1, ge=1, description="The part of the dump to extract, from 1.")
    parts: int = Field(default=1, ge=1, description="Number of parts.")
    window_megabytes: int = Field(
        default=64, ge=1, le=1024, description="Bytes of the dump per work unit; a kill loses one unit per worker."
    )

    @property
    def languages(self) -> tuple[str, ...]:
        """In the order of preference; `mul` is Wikidata's own for names that are the same in all."""
        return tuple(dict.fromkeys((self.lang, "mul", "en")))


class SelectionSettings(BaseModel):
    """Which facts make the dataset, and how it is divided."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    keep: dict[int, str] = Field(
        default_factory=dict, description="Keep only facts with an instance of one of these classes."
    )
    drop: dict[int, str] = Field(default_factory=dict, description="Classes to drop besides those dropped by default.")
    min_degree: int = Field(default=5, ge=0, description="Drop entities with fewer facts.")
    min_predicate: int = Field(default=50, ge=0, description="Drop predicates with fewer facts.")
    granularity: Granularity = Field(default=Granularity.YEAR, description="The unit of the time axis.")
    split: tuple[float, float] | None = Field(
        default=None, description="Facts for valid and test, or fractions; by default 50,000 each, at most a tenth."
    )
    seed: int = Field(default=0, description="Seed of the random split.")

    @field_validator("granularity")
    @classmethod
    def _by_day_at_most(cls, granularity: Granularity) -> Granularity:
        if granularity.has_clock:
            raise ValueError("Wikidata has no times of day; expected day, month or year")
        return granularity

    def held_out(self, facts: int) -> tuple[int, int]:
        """How many facts go to valid and to test."""
        if self.split is None:
            size = min(HELD_OUT, int(SMALL * facts))
            return size, size
        valid, test = (round(part * facts) if part < 1 else int(part) for part in self.split)
        if min(valid, test) < 0 or valid + test >= max(facts, 1):
            given = ",".join(f"{part:g}" for part in self.split)
            raise BadRequest(f"--split {given} leaves no training facts of {facts:,}; choose smaller numbers")
        return valid, test
