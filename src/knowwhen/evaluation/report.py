"""Metrics as text for people: tables of numbers, never without the protocol they were measured under."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from knowwhen.evaluation.metrics import Metrics, RankScores
from knowwhen.evaluation.times import BEST_OF, TimeMetrics, TimeScores
from knowwhen.text import table

RANK_COLUMNS = ("", "MRR", "Hits@1", "Hits@3", "Hits@10", "mean rank", "queries")
GROUP_NAMES = {
    "non_temporal": "no time (NT-MRR)",
    "temporal": "with time (T-MRR)",
    "half_open": "half-open",
    "same_time": "same pair, same time",
    "other_time": "same pair, other time",
    "none": "pair not in train",
}


def rank_report(metrics: Metrics, predicates: int = 10) -> str:
    """The table of ranking metrics, with groups where there are several and the most frequent predicates."""
    rows = [_rank_row("all", metrics)]
    for kind, groups in metrics.groups.items():
        if len(groups) < 2:
            continue
        largest = sorted(groups.items(), key=lambda item: -item[1].count)[:predicates]
        shown = groups.items() if kind != "predicate" else largest
        rows += [(kind,), *(_rank_row(f"  {GROUP_NAMES.get(name, name)}", group) for name, group in shown)]
        if len(shown) < len(groups):
            rows.append((f"  and {len(groups) - len(shown)} more",))
    lines = [*table([RANK_COLUMNS, *rows]), "", metrics.describe()]
    worst, best = (f"{mrr:.4f}" for mrr in (metrics.mrr_pessimistic, metrics.mrr_optimistic))
    if worst != best:
        lines.append(f"many ties: MRR is {worst} if all are lost and {best} if all are won")
    return "\n".join(lines)


def time_report(metrics: TimeMetrics) -> str:
    """The table of time metrics, the model beside the trivial baselines."""
    scorers = {"model": metrics.model, **{name.replace("_", " "): s for name, s in metrics.baselines.items()}}
    found = {name: _time_rows(scores, str(metrics.unit)) for name, scores in scorers.items()}
    rates = {"average precision over time": metrics.base_rate, "AUC-PR as in the paper": metrics.base_rate_paper}
    rows: list[Sequence[str]] = [("", *scorers, "base rate")]
    for label in found["model"]:
        rate = rates.get(label)
        cells = (column.get(label, "") for column in found.values())
        rows.append((label, *cells, "" if rate is None else f"{rate:.4f}"))
    return "\n".join([*table(rows), "", *_believed(metrics), metrics.describe()])


def _believed(metrics: TimeMetrics) -> list[str]:
    """How far the probabilities of dates, and that facts hold, can be believed."""
    found = {name: one.expected_calibration_error for name, one in metrics.model.reliability.items()}
    if metrics.holds is None:
        return [_errors(found)] if found else []
    held = metrics.holds
    shares = f"AUC {held.auc:.3f}, Brier score {held.brier:.3f}, {held.count:,} questions"
    return [
        _errors({**found, "holds": held.reliability.expected_calibration_error}),
        f"facts that hold against corrupted ones: {shares}",
    ]


def _errors(found: Mapping[str, float]) -> str:
    return f"expected calibration error: {', '.join(f'{name} {error:.3f}' for name, error in found.items())}"


def _rank_row(name: str, scores: RankScores) -> tuple[str, ...]:
    shares = (scores.mrr, scores.hits_at_1, scores.hits_at_3, scores.hits_at_10)
    return (name, *(f"{share:.4f}" for share in shares), f"{scores.mean_rank:,.1f}", f"{scores.count:,}")


def _time_rows(scores: TimeScores, unit: str) -> dict[str, str]:
    """Label and number of everything that was measured."""
    rows: dict[str, str] = {}
    if scores.events:
        rows[f"MRR over timestamps ({scores.events.count:,} events)"] = f"{scores.events.mrr:.4f}"
        rows[f"mean absolute error in {unit}s"] = f"{scores.events.mean_absolute_error:.1f}"
    for name, fits in (("intervals", scores.intervals), ("events and intervals", scores.closed)):
        if fits:
            for metric in ("aeIOU", "gaeIOU", "TAC"):
                label = f"{metric}@{'/'.join(map(str, BEST_OF))} ({fits.count:,} {name})"
                rows[label] = " ".join(f"{fits.best_of[f'{metric}@{k}']:.3f}" for k in BEST_OF)
    for name, ends in (("begins", scores.begins), ("ends", scores.ends)):
        if ends:
            rows[f"{name}: mean, median error in {unit}s ({ends.count:,})"] = (
                f"{ends.mean_error:.1f} {ends.median_error:.1f}"
            )
            rows[f"{name}: in the 80 % range, its {unit}s"] = f"{ends.coverage:.3f} {ends.range_length:.1f}"
    if scores.average_precision is not None:
        rows["average precision over time"] = f"{scores.average_precision:.4f}"
    if scores.auc_pr_paper is not None:
        rows["AUC-PR as in the paper"] = f"{scores.auc_pr_paper:.4f}"
    return rows
