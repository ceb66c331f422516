"""Progress for whoever watches: a bar, a function, or nobody."""

import io

import pytest

import knowwhen as kw
from knowwhen.console import counted, errors, say
from knowwhen.errors import BadRequest
from knowwhen.training.session import EachEpoch, Silent, TrainingBar, listener

TINY = {"rank": 2, "epochs": 2, "overrides": {"dating.passes": 0}}
ROWS = [("Ada", "works at", "Bakery", 2001), ("Bob", "works at", "Library", 2002), ("Ada", "knows", "Bob", 2002)]


@pytest.fixture
def screen(monkeypatch):
    """A terminal in place of stderr; gives what was drawn there."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(errors, "_force_terminal", True)
    monkeypatch.setattr(errors, "is_interactive", True)
    monkeypatch.setattr(errors, "_file", io.StringIO())
    monkeypatch.setattr(errors, "quiet", False)
    return errors


@pytest.fixture(scope="module")
def model():
    return kw.train(kw.load(ROWS, fractions=(0, 0)), **TINY)


def test_a_bar_is_drawn_on_a_terminal_and_nothing_where_quiet_is_asked_for(screen):
    with counted(progress=True, what="queries") as told:
        told(3, 10)
    assert "queries" in screen.file.getvalue()
    screen.file.truncate(0)
    screen.quiet = True
    with counted(progress=True, what="queries") as told:
        told(3, 10)
    say("a note")
    assert screen.file.getvalue().strip("\0") == ""


def test_a_function_is_told_and_nobody_is_by_default(model):
    seen = []
    model.evaluate("train", progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (6, 6)
    model.evaluate_times("train", progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (3, 3)
    with counted(None, "queries") as told, counted(progress=False, what="queries") as neither:
        assert told is neither is None


def test_evaluation_and_training_draw_their_progress(model, screen):
    model.evaluate("train", progress=True)
    assert "queries" in screen.file.getvalue()
    screen.file.truncate(0)
    kw.compare(model, model, split="train", resamples=5, progress=True)
    assert "queries" in screen.file.getvalue()
    kw.train(kw.load(ROWS, fractions=(0, 0)), progress=True, **TINY)
    assert "epoch 2/2" in screen.file.getvalue()


def test_training_calls_a_function_with_each_epoch():
    records = []
    model = kw.train(kw.load(ROWS, fractions=(0, 0)), progress=records.append, **TINY)
    assert records == model.records and len(records) == 2


def test_who_listens_to_training():
    assert type(listener(None)) is type(listener(progress=False)) is Silent
    assert isinstance(listener(progress=True), TrainingBar)
    own = Silent()
    assert listener(own) is own
    assert isinstance(listener(print), EachEpoch)


def test_anything_else_is_said_before_the_work(model):
    with pytest.raises(BadRequest, match="progress is 'yes'; expected True, False or a function"):
        model.evaluate("train", progress="yes")
    with pytest.raises(BadRequest, match="progress is 3; expected True, False, a function that takes an epoch"):
        kw.train("nowhere", progress=3)
