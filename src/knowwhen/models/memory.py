"""What a step frees stays at hand for the next."""

from __future__ import annotations

import numpy as np

LARGEST = (32 << 20) - 8192  # the largest block that glibc learns from is 32 MB, with its header


def keep_pages() -> None:
    """Makes glibc's malloc keep up to 64 MB of freed memory instead of giving it back to the system.

    It keeps twice the largest block that was ever freed; so one is freed, untouched. Otherwise every step gets fresh
    pages, which the system fills with zeros: with evidence, thousands in every step. Elsewhere it does nothing.
    """
    np.empty(LARGEST, np.uint8)
