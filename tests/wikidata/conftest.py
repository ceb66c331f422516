"""What the tests of dumps share."""

import pytest


class Silent:
    """Nobody is told of the progress."""

    def bytes(self, done, total):
        pass

    def say(self, text):
        pass


@pytest.fixture
def silent():
    return Silent()


@pytest.fixture
def sample(real_data):
    """The first lines of a real dump: `[`, then 49 items with commas, no closing bracket."""
    return real_data("wikidata-dump-sample") / "first-50-lines.json"
