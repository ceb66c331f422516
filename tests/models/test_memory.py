import platform
import subprocess
import sys

import pytest

FAULTS = """
import resource, sys
import numpy as np
from knowwhen.models.memory import keep_pages

def work():  # as a step does: many arrays that live together, then none
    return len([np.ones(1 << 19) for _ in range(12)])

if sys.argv[1] == "keep":
    keep_pages()
work()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    work()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another malloc")
def test_freed_memory_is_used_again():
    kept, given_back = (
        int(subprocess.run([sys.executable, "-c", FAULTS, how], capture_output=True, check=True).stdout)
        for how in ("keep", "leave")
    )
    assert kept < given_back / 10
