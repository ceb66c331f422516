"""How much a file may become when it is unpacked: a few hundred kilobytes can stand for all of a machine's memory."""

from __future__ import annotations

import os

from knowwhen.errors import BadInput, BadRequest

VARIABLE = "KNOWWHEN_MAX_GB"
DEFAULT = 4.0  # gigabytes; the largest table of Wikidata's facts takes less than one


def unpacked_bytes() -> int:
    """What one file may take in memory once it is unpacked: $KNOWWHEN_MAX_GB, 4 by default."""
    text = os.environ.get(VARIABLE, "").strip()
    try:
        gigabytes = float(text) if text else DEFAULT
    except ValueError:
        gigabytes = -1.0
    if not 0 < gigabytes < 1e6:
        raise BadRequest(f"{VARIABLE} is {text!r}; expected gigabytes, such as 4")
    return int(gigabytes * 1e9)


def physical_bytes() -> int:
    """The memory of this machine; 0 where it does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return 0


def check_unpacked(what: object, size: int) -> None:
    """An error where a file would take more than it may."""
    limit = unpacked_bytes()
    if size > limit:
        raise BadInput(
            f"{what} takes more than {limit / 1e9:g} GB when unpacked; if you trust it and have the memory, "
            f"set {VARIABLE} higher"
        )
