"""A Wikidata JSON dump becomes a dataset folder (extra `wikidata`); sees the facts layer only."""

from importlib import import_module

from knowwhen.errors import MissingExtra


def check_installed() -> None:
    """An error unless the packages of the extra are there; the modules of this package import them."""
    for name in ("duckdb", "isal", "msgspec", "rapidgzip"):
        try:
            import_module(name)
        except ImportError as error:
            raise MissingExtra("knowwhen wikidata", "wikidata") from error
