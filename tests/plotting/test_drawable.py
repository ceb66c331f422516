"""Values of questions draw themselves."""

import pytest

import knowwhen as kw


@pytest.fixture(scope="module")
def model():
    return kw.train("leaders", overrides={"model.rank": 4, "training.epochs": 1, "training.batch_size": 500})


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_answers_times_timelines_and_reports_have_a_plot(model, tmp_path, ending):
    values = [
        model.ask("United States", "has president", "?", "2012"),
        model.ask("France", "has president", "François Mitterrand", "?"),
        model.timeline("France", "has president", span="1980..2020"),
        model.evaluate_calibration("valid", sample=40),
    ]
    for i, value in enumerate(values):
        figure = value.plot(tmp_path / f"{i}.{ending}")
        assert figure.axes
        assert (tmp_path / f"{i}.{ending}").stat().st_size > 1000
