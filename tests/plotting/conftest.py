"""Values to plot, made by hand."""

import numpy as np
import pytest

from knowwhen.query import Answer, Answers, TimeAnswers, TimelineScores, TimeSpan


@pytest.fixture
def presidents():
    """Three presidents over eleven years: one known since before, one with a closed span, one not known at all."""
    times = [str(year) for year in range(2005, 2016)]
    scores = np.array([np.linspace(9, 1, 11), np.linspace(1, 9, 11), [1, 2, 3, 4, 5, 9, 5, 4, 3, 2, 1]], np.float32)
    return TimelineScores(
        subject="France",
        predicate="has president",
        objects=["Jacques Chirac", "Nicolas Sarkozy", "Ségolène Royal"],
        times=times,
        scores=scores,
        probabilities=np.exp(scores) / np.exp(scores).sum(0),
        known=[[(None, "2007")], [("2007", "2012"), ("2014", "2014")], []],
    )


@pytest.fixture
def answers():
    rows = (
        Answer("Barack Obama", "Q76", 9.0, 0.8, known=True, spans=(("2009", "2017"),)),
        Answer("Make $ & $ Co", "Q1", 5.0, 0.1, known=False, spans=()),
    )
    return Answers("United States, has president, ?, 2012", "object", rows, calibrated=True)


@pytest.fixture
def time_answers():
    probabilities = np.array([0.05, 0.1, 0.4, 0.3, 0.1, 0.05])
    return TimeAnswers(
        question="France, has president, François Mitterrand, ?",
        times=[str(year) for year in range(1979, 1985)],
        scores=np.log(probabilities).astype(np.float32),
        probabilities=probabilities,
        spans=(TimeSpan("1981", "1982", 0.7), TimeSpan("1984", "1984", 0.05)),
        known=(("1981", None),),
        calibrated=False,
    )
