"""One model, many threads: answers are those of one thread, also while everything is asked for the first time."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import knowwhen as kw
from knowwhen import dating
from knowwhen.errors import UnknownName

THREADS = 8
NAMES = ("France", "Norway", "Japan", "Germany")


def misspelt(model, name):
    with pytest.raises(UnknownName) as found:
        model.ask(f"{name}x", "has president", "?")
    return found.value.suggestions


QUESTIONS = [
    lambda model, name: model.ask(name, "has president", "?", 1990, explain=True).to_dict(),
    lambda model, name: model.ask(name, "has president", "?", novel=True).to_dict(),
    lambda model, name: model.ask("?", "member of", name, 1990).to_dict(),
    lambda model, name: model.ask(name, "?", "NATO", "1990..1995", candidates=["member of"]).to_dict(),
    lambda model, name: model.ask(name, "member of", "NATO", "?").to_dict(),
    lambda model, name: [one.to_dict() for one in model.ask([(name, "member of", "?", year) for year in (1980, 2000)])],
    lambda model, name: model.when(name, "member of", "NATO").to_dict(),
    lambda model, name: model.holds(name, "member of", "NATO", 2030).to_dict(),
    lambda model, name: model.as_of(name, "has president", "?", 2030, top=3).to_dict(),
    lambda model, name: model.similar(name).to_dict(),
    lambda model, name: model.evaluate("test", sample=5).to_dict(),
    misspelt,
]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("threads") / "run"
    settings = {"model.evidence": ["pair_history"], "dating.passes": 1}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dating.learning, "LEAST_STEPS", 1)
        kw.train("leaders", run=folder, rank=4, epochs=1, overrides=settings)
    return folder


def asked(model, jobs, threads):
    """The results of jobs, begun at the same moment by as many threads."""
    ready = threading.Barrier(threads)

    def work(number):
        ready.wait()
        return {i: ask(model, name) for i, (ask, name) in enumerate(jobs) if i % threads == number}

    with ThreadPoolExecutor(threads) as pool:
        parts = list(pool.map(work, range(threads)))
    found = {i: one for part in parts for i, one in part.items()}
    return [found[i] for i in range(len(jobs))]


def test_threads_get_the_answers_of_one(run):
    """A model that was just opened makes its indexes on the first questions, here on all of them at once."""
    jobs = [(ask, name) for name in NAMES for ask in QUESTIONS]
    alone, together = asked(kw.open(run), jobs, 1), asked(kw.open(run), jobs, THREADS)
    for (_, name), one, other in zip(jobs, alone, together, strict=True):
        assert one == other, name


def test_facts_are_added_while_others_ask(run):
    """`add` leaves the model it is called on as it was: whoever has that one sees nothing of it."""
    model = kw.open(run)
    apart = kw.TrainedModel(model.model, model.dataset, model.config, calibration=model.calibration, times=model.times)
    before, newest, stop = apart.ask("France", "has president", "?", 2012).to_dict(), [apart], threading.Event()

    def add():
        for i in range(5):
            newest[0] = newest[0].add([(f"Newcomer {i}", "citizen of", "France", 2030 + i)])
        stop.set()

    def ask():
        seen = []
        while not stop.is_set():
            assert apart.ask("France", "has president", "?", 2012).to_dict() == before
            seen.append(len(newest[0].ask("?", "citizen of", "France", 2030).to_dicts()))
        return seen

    with ThreadPoolExecutor(4) as pool:
        asking = [pool.submit(ask) for _ in range(3)]
        pool.submit(add).result()
        assert all(set(one.result()) <= {10} for one in asking)
    assert len(newest[0].dataset.added) == 5 and not len(apart.dataset.added)
    assert newest[0].ask("Newcomer 4", "citizen of", "?", 2034)[0].probability > 0
