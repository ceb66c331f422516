"""What the shell offers when Tab is pressed."""

import pytest

from knowwhen.training.recipes import recipes


def offered(forks, words):
    environment = {"_KNOWWHEN_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    return forks.run(environment=environment).out.split()


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("knowwhen train leaders --recipe ", [*recipes()]),
        ("knowwhen train leaders --recipe evidence-l", ["evidence-leaders"]),
        ("knowwhen train lea", ["leaders"]),
        ("knowwhen data check l", ["leaders"]),
        ("knowwhen data get icews1", ["icews14"]),
        ("knowwhen baseline lead", ["leaders"]),
        ("knowwhen train leaders --recipe nothing", []),
        ("knowwhen eval", ["evaluate"]),
    ],
)
def test_names_are_completed(forks, words, names):
    assert offered(forks, words) == names
