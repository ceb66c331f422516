"""What a shell completes besides commands and options: `knowwhen --install-completion` turns it on.

Where nothing fits, the shell goes on with the names of files.
"""

from __future__ import annotations

from knowwhen.facts.catalog import REMOTE, available
from knowwhen.training.recipes import recipes


def recipe_names(incomplete: str) -> list[str]:
    """Recipes that begin with what is typed."""
    return [name for name in recipes() if name.startswith(incomplete)]


def dataset_names(incomplete: str) -> list[str]:
    """Datasets on this machine that begin with what is typed."""
    return [name for name in available() if name.startswith(incomplete)]


def public_names(incomplete: str) -> list[str]:
    """Datasets that can be downloaded and begin with what is typed."""
    return [name for name in REMOTE if name.startswith(incomplete)]
