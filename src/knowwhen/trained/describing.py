"""What a trained model is: sizes and results as values, and as a page for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from knowwhen.evaluation.evaluate import seen_entities
from knowwhen.models.budget import paper_parameter_count
from knowwhen.training.loop import best_valid_mrr

if TYPE_CHECKING:
    from knowwhen.trained.model import TrainedModel

COUNTED = ("complex", "tcomplex", "tntcomplex")  # models whose parameters the paper counts


def info(trained: TrainedModel) -> dict[str, Any]:
    """What it is and how large, stored parameters beside those of the paper's formula."""
    sizes, name, options = trained.model.sizes, trained.model.name, trained.config.model.options
    seen = int(seen_entities(trained.dataset).sum())
    counted = None
    if name in COUNTED:
        # The paper counts the entities of train, and reciprocal predicates before its formula doubles them again.
        counted = paper_parameter_count(name, options["rank"], seen, 2 * sizes.predicates, sizes.timestamps)
    return {
        "model": name,
        "formula": trained.model.decomposition.formula,
        "evidence": list(trained.model.evidence),
        "correction": trained.model.correction is not None,
        "time_head": trained.times is not None,
        **options,
        "parameters": trained.model.parameter_count(),
        "parameters_in_the_papers_count": counted,
        "data": trained.dataset.name,
        "data_hash": trained.trained.dataset.hash,
        "added_facts": len(trained.dataset.added),
        "epochs": trained.records[-1]["epoch"] if trained.records else 0,
        "best_valid_mrr": best_valid_mrr(trained.records),
        "knowwhen": trained.version,
    }


def card(trained: TrainedModel) -> str:
    """A page for people who find the folder: what the model is, what it was trained on, how it did."""
    about = info(trained)
    lines = [f"# {about['model']} on {about['data']}", "", "A model made with knowwhen.", ""]
    lines += [f"- {key.replace('_', ' ')}: {value}" for key, value in about.items() if value is not None]
    lines += ["", "```python", "import knowwhen as kw", "", 'model = kw.open("this folder")', "```", ""]
    lines += ["## Settings", "", "```toml", trained.config.to_toml().rstrip(), "```", ""]
    return "\n".join(lines)
