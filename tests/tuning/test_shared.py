"""A study in a folder: points, claims, kills, twins, pruning and what is kept. No model is trained: MRR is planted."""

from contextlib import ExitStack

import pytest

from knowwhen.errors import DamagedFile, RunError
from knowwhen.training.config import read_config
from knowwhen.tuning.shared import KILLS, Plan, SharedStudy
from knowwhen.tuning.space import read_space

WEIGHT, RANK, EVIDENCE = "regularizer.embedding_weight", "model.rank", "model.evidence"
VALUES = {
    WEIGHT: {"low": 1e-4, "high": 1, "log": True},
    RANK: {"low": 2, "high": 8},
    EVIDENCE: [[], ["pair_history"]],
}
ABOUT = {"data": {"name": "leaders", "hash": "0"}, "sampler": "random", "settings": {"model.rank": 4}}


def plan(sampler="random", trials=6, values=VALUES, pruner="none", seed=0):
    space = read_space(values, lambda point: read_config("leaders", point))
    points = space.points(lambda point: True) if sampler == "grid" else None
    return Plan(space, sampler, pruner, seed, 1, points, min(trials, len(points)) if points else trials)


def begin(path, about=ABOUT):
    return SharedStudy.begin(path, about)


def mrr_of(point):
    return round(point.get(RANK, 0) / 10, 4)


def run_one(claim, looks=2):
    """A trial with a planted outcome, and the files that a fit leaves."""
    folder = claim.folder
    folder.checkpoints.mkdir(exist_ok=True)
    (folder.checkpoints / "best.safetensors").write_text("weights")
    config = read_config("leaders", claim.point)
    folder.config.write_text(config.to_toml() + "\n[versions]\nformat = 2\n")
    for epoch in range(1, looks + 1):
        if claim.report(epoch, mrr_of(claim.point) * epoch / looks):
            claim.prune()
            return
    claim.complete(mrr_of(claim.point))


def run_all(study, plan, others=()):
    while (claim := study.claim(plan)) is not None:
        with claim.held:
            run_one(claim)
    return {trial.number: trial for trial in study.results().trials}


@pytest.fixture
def straight(tmp_path):
    """The trials of a study that nothing disturbed, by number."""
    return run_all(begin(tmp_path / "straight"), plan())


def points(trials):
    return [trials[number].point for number in sorted(trials)]


def test_points_are_of_the_space_and_depend_on_seed_and_number(straight, tmp_path):
    assert len(straight) == 6 and all(trial.state == "complete" for trial in straight.values())
    for point in points(straight):
        assert 1e-4 <= point[WEIGHT] <= 1 and point[RANK] in range(2, 9) and point[EVIDENCE] in VALUES[EVIDENCE]
    assert len({point[WEIGHT] for point in points(straight)}) == 6
    other = run_all(begin(tmp_path / "other"), plan(seed=1))
    assert not {p[WEIGHT] for p in points(other)} & {p[WEIGHT] for p in points(straight)}


def test_two_at_a_time_share_the_trials_and_draw_what_one_draws(straight, tmp_path):
    first, second = begin(tmp_path / "s"), begin(tmp_path / "s")
    found = []
    while True:
        with ExitStack() as held:
            claims = [claim for study in (first, second) if (claim := study.claim(plan())) is not None]
            for claim in claims:
                held.enter_context(claim.held)
            found += [claim.number for claim in claims]
            for claim in claims:
                run_one(claim)
        if not claims:
            break
    assert found == [0, 1, 2, 3, 4, 5]
    trials = {trial.number: trial for trial in second.results().trials}
    assert points(trials) == points(straight)


def test_a_trial_that_was_left_is_continued_and_one_that_runs_is_not(straight, tmp_path):
    first, second = begin(tmp_path / "s"), begin(tmp_path / "s")
    left = first.claim(plan())
    left.report(1, 0.25)
    beside = second.claim(plan())
    assert (left.number, beside.number) == (0, 1)  # not the one that runs
    left.held.close()  # as a kill does
    again = second.claim(plan())
    assert (again.number, again.point, again.noted()) == (0, left.point, [1])
    for claim in (again, beside):
        with claim.held:
            run_one(claim)
    assert points(run_all(second, plan())) == points(straight)


def test_a_trial_that_kills_its_processes_has_failed_and_one_that_is_stopped_has_not(tmp_path):
    study = begin(tmp_path / "s")
    for _ in range(10):
        stopped = study.claim(plan(trials=2))
        assert stopped.number == 0
        stopped.leave()
        stopped.held.close()
    for _ in range(KILLS - 1):  # with the process that is stopped no more
        study.claim(plan(trials=2)).held.close()
    trials = run_all(study, plan(trials=2))
    assert (trials[0].state, trials[1].state) == ("complete", "complete")
    other = begin(tmp_path / "other")
    for _ in range(KILLS):
        other.claim(plan(trials=2)).held.close()
    trials = run_all(other, plan(trials=2))
    assert (trials[0].state, trials[1].state) == ("failed", "complete")
    assert trials[0].error == "3 processes were killed while running it; is there enough memory?"


def test_a_kill_between_queueing_and_asking_loses_no_point_of_a_grid(tmp_path, monkeypatch):
    whole = plan("grid", values={RANK: [2, 4, 8]}, trials=9)
    study = begin(tmp_path / "s")
    monkeypatch.setattr(study.study, "ask", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        study.claim(whole)
    trials = run_all(begin(tmp_path / "s"), whole)
    assert [point[RANK] for point in points(trials)] == [2, 4, 8]


def test_a_grid_has_every_point_once_and_ends(tmp_path):
    whole = plan("grid", values={RANK: [2, 4], EVIDENCE: VALUES[EVIDENCE]}, trials=100)
    trials = run_all(begin(tmp_path / "s"), whole)
    assert [tuple(p.values()) for p in points(trials)] == [(r, e) for r in (2, 4) for e in VALUES[EVIDENCE]]


def test_a_point_that_comes_up_again_is_not_run_again(tmp_path):
    few = plan("random", values={RANK: [2, 4, 8]}, trials=12)
    study, runs = begin(tmp_path / "s"), 0
    while (claim := study.claim(few)) is not None:
        runs += 1
        with claim.held:
            run_one(claim)
    trials = study.results().trials
    assert (runs, len(trials)) == (3, 12)
    copies = [trial for trial in trials if trial.same_as is not None]
    assert len(copies) == 9
    originals = {trial.number: trial for trial in trials if trial.same_as is None}
    for copy in copies:
        original = originals[copy.same_as]
        assert (copy.point, copy.valid_mrr, copy.curve) == (original.point, original.valid_mrr, original.curve)
    assert study.results().best.same_as is None


def test_weights_of_trials_that_lost_are_removed_and_the_best_recipe_is_written(tmp_path):
    study = begin(tmp_path / "s")
    trials = run_all(study, plan(trials=5))
    best = study.results().best
    assert best.valid_mrr == max(trial.valid_mrr for trial in trials.values())
    kept = [path.parent.name for path in (tmp_path / "s" / "trials").glob("*/checkpoints")]
    assert kept == [f"{best.number:04}"]
    config = read_config(tmp_path / "s" / "best.toml")
    assert all(config.flat()[name] == value for name, value in best.point.items())
    assert f'note = "trial {best.number} of a study: MRR {best.valid_mrr:.4f} on valid"' in study.results().recipe


@pytest.mark.parametrize("pruner", ["median", "halving", "none"])
def test_hopeless_trials_are_pruned(tmp_path, pruner):
    ranks = [8, 7, 6, 8, 7, 6, 2, 3]
    axes = {RANK: [2, 3, 6, 7, 8], "training.seed": list(range(8))}
    rising = Plan(
        plan(values=axes).space, "grid", pruner, 0, 1, [{RANK: r, "training.seed": i} for i, r in enumerate(ranks)], 8
    )
    trials = run_all(begin(tmp_path / "s"), rising)
    states = [trials[i].state for i in range(8)]
    if pruner == "none":
        assert set(states) == {"complete"}
    else:
        assert states[0] == "complete" and states[6:] == ["pruned", "pruned"]
        assert trials[6].curve == ((1, 0.1),) and trials[6].valid_mrr == 0.1
    assert [t.state for t in SharedStudy.open(tmp_path / "s").results().trials] == sorted(states)


def test_tpe_learns_from_earlier_trials(tmp_path):
    axis = {WEIGHT: {"low": 1e-4, "high": 1, "log": True}}
    study, tpe = begin(tmp_path / "s"), plan("tpe", trials=24, values=axis)
    drawn = []
    while (claim := study.claim(tpe)) is not None:
        drawn.append(claim.point[WEIGHT])
        with claim.held:
            claim.folder.config.write_text(read_config("leaders", claim.point).to_toml() + "\n[versions]\nformat = 2\n")
            claim.complete(claim.point[WEIGHT])  # the larger, the better
    assert sum(weight > 0.1 for weight in drawn[-8:]) > 2 * sum(weight > 0.1 for weight in drawn[:8])


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({**ABOUT, "sampler": "grid"}, "s contains a study with sampler = 'random', not 'grid'; repeat its command"),
        ({**ABOUT, "settings": {"model.rank": 5}}, "with settings.model.rank = 4, not 5"),
        ({**ABOUT, "data": {"name": "leaders", "hash": "1"}}, "with data.hash = '0', not '1'"),
        ({key: value for key, value in ABOUT.items() if key != "sampler"}, "with sampler = 'random', not None"),
    ],
)
def test_a_study_is_not_mixed_with_another(tmp_path, about, message):
    begin(tmp_path / "s")
    with pytest.raises(RunError, match=message):
        begin(tmp_path / "s", about)


def test_folders_that_hold_no_study_and_databases_that_are_none(tmp_path):
    with pytest.raises(RunError, match="nowhere contains no study; `knowwhen tune DATA --run"):
        SharedStudy.open(tmp_path / "nowhere")
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(RunError, match="exists but contains no study; choose another --run"):
        begin(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    begin(tmp_path / "s")
    (tmp_path / "s" / "study.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(
        DamagedFile, match=r"cannot use \S+study.db: file is not a database; restore it from a copy, or"
    ):
        begin(tmp_path / "s")


def test_odd_names_of_folders(tmp_path):
    path = tmp_path / "a ?#%41 {x}"
    run_all(begin(path), plan(trials=1))
    assert len(SharedStudy.open(path).results().trials) == 1
    assert sorted(entry.name for entry in path.iterdir()) == ["best.toml", "study.db", "trials"]
