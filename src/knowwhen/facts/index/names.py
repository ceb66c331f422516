"""Names found by what people type: exactly, by how they begin, or nearly, over half a million names in milliseconds.

Names are compared normalised: without case, accents and underscores. Beginnings are found in a sorted list; near names
by the trigrams they share with what was typed, in an inverted index; the best few are then compared letter by letter.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

SHORTLIST = 60  # names that are compared letter by letter
COMPARED = 1000  # heaviest names that are looked through for a word
NEAR = 0.6  # of the letters: below, a name is not what was meant
NOT_MUCH_LESS = 0.12  # than the nearest name's likeness: 'Untied States' is not 'United Nations'
LAST = "\U0010ffff"  # sorts after every other character
# Letters that Unicode does not take apart into a letter and a mark.
LETTERS = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "_": " "})


@dataclass(frozen=True)
class Match:
    """A name that was found, and the id it belongs to."""

    id: int
    name: str


def normalise(name: str) -> str:
    """The name without case, accents, underscores and double spaces."""
    lowered = name.casefold()
    if not lowered.isascii():
        parts = unicodedata.normalize("NFKD", lowered).casefold()  # letters of formulas, 𝕊, are taken apart to capitals
        lowered = "".join(letter for letter in parts if not unicodedata.combining(letter))
    return " ".join(lowered.translate(LETTERS).split())


class Lookup:
    """Search over keys and labels, whose place is their id; its indexes are built when they are first needed."""

    def __init__(self, keys: Iterable[str], labels: Iterable[str | None] | None = None) -> None:
        names = list(keys)
        labelled = [
            (i, label)
            for i, label in enumerate(() if labels is None else labels)
            if label is not None and label != names[i]
        ]
        self._ids = [*range(len(names)), *(i for i, _ in labelled)]
        self._names = [*names, *(label for _, label in labelled)]

    def exact(self, text: str) -> list[Match]:
        """The names that are equal but for case and accents, alphabetically."""
        wanted = normalise(text)
        return self._matches(self._between(wanted, wanted + "\0"))

    def prefix(self, text: str, limit: int = 10) -> list[Match]:
        """The shortest names that begin so."""
        wanted = normalise(text)
        found = self._between(wanted, wanted + LAST)
        shortest = np.argsort(self._lengths[found.start : found.stop], kind="stable") + found.start
        # A key and a label of one entity may both begin so.
        return self._matches(shortest[: 2 * limit].tolist())[:limit]

    def fuzzy(self, text: str, limit: int = 10) -> list[Match]:
        """The names that are nearly so, or of which what was typed is nearly a part; nearest first."""
        wanted = normalise(text)
        compared = [(_likeness(wanted, self._normalised[place]), place) for place in self._sharing(wanted)]
        least = max([NEAR, *(likeness - NOT_MUCH_LESS for likeness, _ in compared)])
        near = sorted((-likeness, place) for likeness, place in compared if likeness >= least)
        return self._matches(place for _, place in near)[:limit]

    def search(self, text: str, limit: int = 10) -> list[Match]:
        """What someone who types this may mean: names that are equal, then those that begin so, then near ones."""
        found = {match.id: match for match in self.exact(text)}
        for search in (self.prefix, self.fuzzy):
            if len(found) < limit:
                found |= {match.id: match for match in search(text, limit) if match.id not in found}
        return list(found.values())[:limit]

    def complete(self, text: str, weights: Ints, limit: int = 10) -> list[Match]:
        """What someone may be about to type: equal names, then those with a word that begins so, then near ones.

        `weights` has one for each id, the number of its facts perhaps; the heaviest names come first among those with
        such a word. Naive equivalent of these: all names with " " + text in " " + name, sorted by weight.
        """
        found = {match.id: match for match in self.exact(text)}
        wanted = normalise(text)
        begun = self._between(wanted, wanted + LAST)
        heaviest = self._heaviest(np.arange(begun.start, begun.stop), weights, 2 * limit)
        inside = self._heaviest(self._with_word(wanted), weights, COMPARED)
        places = [place for place in inside if f" {wanted}" in f" {self._normalised[place]}"][: 2 * limit]
        both = sorted({*heaviest, *places}, key=lambda place: -weights[self._ids[self._order[place]]])
        for match in self._matches(both):
            found.setdefault(match.id, match)
        if len(found) < limit and len(wanted) > 1:
            for match in self.fuzzy(text, limit):
                found.setdefault(match.id, match)
        return list(found.values())[:limit]

    def _heaviest(self, places: Ints, weights: Ints, limit: int) -> list[int]:
        """Some places, those of heavy names first."""
        of = weights[self._id_array[self._order[places]]]
        if len(places) > limit:
            chosen = np.argpartition(-of, limit - 1)[:limit]
            places, of = places[chosen], of[chosen]
        return [int(place) for place in places[np.argsort(-of, kind="stable")]]

    def _with_word(self, wanted: str) -> Ints:
        """The places of all names with a word that begins so, and of a few more: those that have all its trigrams."""
        if len(wanted) < 2 or not self._normalised:
            return np.zeros(0, np.int64)
        distinct, places, starts, _ = self._trigrams
        codes = np.unique(_trigram_codes([wanted])[0][:-1])  # the last would have it end there
        at = np.searchsorted(distinct, codes)
        if not len(distinct) or not np.array_equal(distinct[np.minimum(at, len(distinct) - 1)], codes):
            return np.zeros(0, np.int64)
        lists = sorted((places[starts[i] : starts[i + 1]] for i in at), key=len)
        common = np.unique(lists[0])
        for others in lists[1:]:
            at = np.minimum(np.searchsorted(others, common), len(others) - 1)  # of a trigram, places are in order
            common = common[others[at] == common]
        return common.astype(np.int64)

    def _matches(self, places: Iterable[int]) -> list[Match]:
        """One match for each id: a key and a label of the same entity are one answer."""
        found: dict[int, Match] = {}
        for place in places:
            number = int(self._order[place])
            found.setdefault(self._ids[number], Match(self._ids[number], self._names[number]))
        return list(found.values())

    def _between(self, first: str, last: str) -> range:
        """The places of the sorted names from `first` to before `last`."""
        return range(bisect_left(self._normalised, first), bisect_left(self._normalised, last))

    @cached_property
    def _sorted(self) -> tuple[Ints, list[str]]:
        normalised = [normalise(name) for name in self._names]
        order = sorted(range(len(normalised)), key=normalised.__getitem__)
        return np.array(order, np.int64), [normalised[i] for i in order]

    @property
    def _order(self) -> Ints:
        return self._sorted[0]

    @property
    def _normalised(self) -> list[str]:
        """In order; a place in this list is what all searches work with."""
        return self._sorted[1]

    @cached_property
    def _id_array(self) -> Ints:
        return np.array(self._ids, np.int64)

    @cached_property
    def _lengths(self) -> Ints:
        return np.array([len(name) for name in self._normalised], np.int64)

    @cached_property
    def _trigrams(self) -> tuple[Ints, NDArray[np.int32], Ints, Ints]:
        """Distinct trigrams, the places of the names that have each, where those begin, and trigrams per name."""
        codes, places = _trigram_codes(self._normalised)
        order = np.argsort(codes, kind="stable")
        distinct, starts = np.unique(codes[order], return_index=True)
        counts = np.bincount(places, minlength=len(self._normalised))
        return distinct, places[order].astype(np.int32), np.append(starts, len(codes)), counts

    def _sharing(self, wanted: str) -> list[int]:
        """The places of the names that share most trigrams with a text."""
        distinct, places, starts, counts = self._trigrams
        if not len(distinct):
            return []
        codes = np.unique(_trigram_codes([wanted])[0])
        at = np.searchsorted(distinct, codes)
        at = at[distinct[np.minimum(at, len(distinct) - 1)] == codes]
        lists = [places[starts[i] : starts[i + 1]] for i in at]
        if not lists:
            return []
        shared = np.bincount(np.concatenate(lists), minlength=len(counts))
        # Half for the share of the text that is found again, half for the share that both have in common.
        value = shared / len(codes) + 2 * shared / (len(codes) + counts)
        best = np.argpartition(-value, min(SHORTLIST, len(value) - 1))[:SHORTLIST]
        return [int(place) for place in best if shared[place]]


def _likeness(wanted: str, name: str) -> float:
    """How alike two texts are from 0 to 1; a text that is like some words of a name is a little less like all of it."""
    whole = SequenceMatcher(None, wanted, name).ratio()
    words, size = name.split(), len(wanted.split())
    parts = (" ".join(words[i : i + size]) for i in range(len(words) - size + 1)) if size < len(words) else ()
    return max([whole, *(0.9 * SequenceMatcher(None, wanted, part).ratio() for part in parts)])


def _trigram_codes(names: Sequence[str]) -> tuple[Ints, Ints]:
    """Three characters as one number, and the name each is in; a name begins and ends with a space."""
    padded = [f" {name} " for name in names]
    text = np.frombuffer("".join(padded).encode("utf-32-le"), np.uint32).astype(np.int64)
    lengths = np.array([len(name) for name in padded], np.int64)
    owner = np.repeat(np.arange(len(names)), lengths)
    codes = (text[:-2] << 42) | (text[1:-1] << 21) | text[2:]  # a character has 21 bits
    inside = owner[:-2] == owner[2:]
    return codes[inside], owner[:-2][inside]
