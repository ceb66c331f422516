"""One process that is forked for all tests of a worker."""

import pytest

from tests.processes import Forks


@pytest.fixture(scope="session")
def forks():
    with Forks() as found:
        yield found
