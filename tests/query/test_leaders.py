"""A trained model of real facts answers questions whose answers everyone can look up."""

import pytest

import knowwhen as kw
from knowwhen.evaluation import calibrate


@pytest.fixture(scope="module")
def leaders(demo):
    """As the recipe of the same name trains it."""
    folder, _ = demo
    return kw.open(folder / "runs" / "demo")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (("United States", "has president", "?", "2012"), "Barack Obama"),
        (("United States", "has president", "?", "2009..2012"), "Barack Obama"),
        (("France", "has president", "?", "1985"), "François Mitterrand"),
        (("?", "has president", "Barack Obama", "2012"), "United States"),
        (("United States", "?", "Barack Obama", "2012"), "has president"),
    ],
)
def test_the_first_answer_is_right_and_known(leaders, question, answer):
    found = leaders.ask(*question)
    assert found[0].name == answer
    assert found[0].known
    assert found.calibrated


@pytest.mark.slow
def test_the_best_span_meets_the_presidency(leaders):
    found = leaders.ask("France", "has president", "François Mitterrand", "?")
    assert found.known == (("1981", "1995"),)
    best = found[0]
    overlap = min(int(best.end), 1995) - max(int(best.begin), 1981) + 1
    hull = max(int(best.end), 1995) - min(int(best.begin), 1981) + 1
    assert overlap / hull > 0.5
    assert best.probability > 0.3  # 15 of 81 years would hold 0.19 of a flat curve


@pytest.mark.slow
def test_presidents_follow_each_other_along_time(leaders):
    found = leaders.timeline("France", "has president", span="1985..2019")
    best = [found.objects[i] for i in found.probabilities.argmax(0)]
    assert best[0] == "François Mitterrand"
    assert best[found.times.index("2000")] == "Jacques Chirac"
    assert best[found.times.index("2010")] == "Nicolas Sarkozy"


@pytest.mark.slow
def test_neighbouring_years_are_neighbours_in_the_embedding(leaders):
    assert {row.key for row in leaders.nearest_times(1990, top=2)} <= {"1988", "1989", "1991", "1992"}


@pytest.mark.slow
def test_calibration_lowers_the_loss_on_valid_and_is_kept_with_the_model(leaders, tmp_path):
    assert all(fit.loss_after <= fit.loss_before for fit in leaders.calibration.fits.values())
    assert calibrate(leaders.model, leaders.dataset) == leaders.calibration
    leaders.save(tmp_path / "model")
    opened = kw.open(tmp_path / "model")
    assert opened.calibration == leaders.calibration
    question = ("United States", "has president", "?", "2012")
    assert opened.ask(*question) == leaders.ask(*question)
    assert opened.ask([question]) == [leaders.ask(*question)]
    report = leaders.evaluate_calibration("valid")
    assert report.slots["subject"].after.expected_calibration_error < 0.2
