"""Which column of a table is the subject, the predicate, the object and the time: as asked for, or as headers tell."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence

from knowwhen.errors import BadInput, BadRequest, did_you_mean

NAMES = ("subject", "predicate", "object")
BY_PLACE = {3: NAMES, 4: (*NAMES, "time"), 5: (*NAMES, "begin", "end")}  # of a table without a header, by its width

# Header names that are recognised, in lower case with _ for blanks. :TYPE and :START_ID(Person) are those of
# Neo4j, source_node_uuid and valid_at those of memories for agents.
HEADERS = {
    "subject": (
        *("subject", "s", "subj", "head", "h", "source", "subject_id", "entity1", "source_id", "source_entity"),
        *("start_id", "_start", "source_node_uuid", "source_uuid", "from_id", "node1", "from"),
    ),
    "predicate": (
        *(
            "predicate",
            "p",
            "pred",
            "relation",
            "rel",
            "r",
            "property",
            "predicate_id",
            "relationship",
            "relation_type",
        ),
        *("relationship_type", "edge_type", "type", "_type", "edge", "label", "verb"),
    ),
    "object": (
        *("object", "o", "obj", "tail", "target", "object_id", "entity2", "target_id", "target_entity"),
        *("end_id", "_end", "target_node_uuid", "target_uuid", "to_id", "node2", "to"),
    ),
    "time": (
        *("time", "t", "date", "timestamp", "datetime", "when", "year", "day", "month", "point_in_time", "event_date"),
        *("event_time", "date_time", "period", "years", "span"),
    ),
    "begin": (
        *("begin", "start", "since", "valid_from", "begin_date", "start_date", "begin_time", "start_time", "valid_at"),
        *("from", "from_date", "date_from", "from_year", "year_from", "start_year", "begin_year", "started", "begins"),
        *("started_at", "start_at", "effective_from", "valid_start", "startdate", "starttime", "validfrom", "began"),
    ),
    "end": (
        *("end", "until", "till", "stop", "valid_to", "valid_until", "end_date", "end_time", "invalid_at"),
        *("to", "to_date", "date_to", "to_year", "year_to", "end_year", "ended", "ends", "finish", "finish_date"),
        *("ended_at", "end_at", "effective_to", "effective_until", "valid_end", "enddate", "endtime", "validto"),
    ),
    "recorded": (
        *("recorded", "recorded_at", "recorded_on", "created_at", "ingested_at", "inserted_at", "known_since"),
        *("transaction_time", "transaction_from", "system_from"),
    ),
}
EDGES = ("from", "to")  # of an edge or of a span: their values tell
MEMORY_EDGES = ("source_node_uuid", "source_uuid")  # tables with these call the predicate `name`


def plain(header: str) -> str:
    """A header as HEADERS has it: 'Start-Date' as start_date, 'since:int' as since, ':START_ID(Person)' as start_id."""
    text = re.sub(r"\(.*\)$", "", header.strip().strip('"').lower())
    name, _, kind = text.partition(":")
    return re.sub(r"[\s-]+", "_", (name or kind).strip())


def choose_columns(
    found: Sequence[str],
    wanted: Mapping[str, str],
    name: str,
    *,
    predicate: str | None = None,
    is_time: Callable[[str], bool] = lambda column: False,
) -> dict[str, str]:
    """Our column names to the file's: those asked for, else those whose header is recognised.

    `is_time` says whether the values of a column are dates: `from` and `to` are ends of a span or of an edge.
    """
    _check_wanted(found, wanted, name)
    known = {plain(header): header for header in reversed(found)}
    chosen = dict(wanted)
    for ours, names in HEADERS.items():
        if ours in chosen or (ours == "predicate" and predicate is not None):
            continue
        extra = ("name",) if ours == "predicate" and any(edge in known for edge in MEMORY_EDGES) else ()
        chosen |= next(
            (
                {ours: known[one]}
                for one in (*names, *extra)
                if one in known and known[one] not in chosen.values() and _means(one, ours, known[one], is_time)
            ),
            {},
        )
    _settle_times(chosen, wanted)
    chosen = {ours: chosen[ours] for ours in HEADERS if ours in chosen}
    missing = [one for one in NAMES if one not in chosen and not (one == "predicate" and predicate is not None)]
    if missing:
        ends = ("subject", "object")  # of an edge: if one is missing, the header of the other may mean something else
        doubted = [one for one in ends if one not in wanted and set(ends) & set(missing)]
        certain = {ours: theirs for ours, theirs in chosen.items() if ours not in doubted}
        raise BadInput(_not_found(missing, found, name, certain, is_time))
    return chosen


def _means(header: str, ours: str, theirs: str, is_time: Callable[[str], bool]) -> bool:
    """Whether a header stands for a column of ours: `from` and `to` are no names where their values are dates."""
    return not (header in EDGES and ours in NAMES and is_time(theirs))


def _settle_times(chosen: dict[str, str], wanted: Mapping[str, str]) -> None:
    """One column for each end: with an end alone, `time` or `year` is the begin; with a begin it is not used."""
    if "time" in chosen and "time" in wanted:
        for end in {"begin", "end"} - set(wanted):
            chosen.pop(end, None)
    if "time" in chosen and "end" in chosen and "begin" not in chosen:
        chosen["begin"] = chosen.pop("time")
    elif "time" in chosen and "begin" in chosen:
        del chosen["time"]


def _check_wanted(found: Sequence[str], wanted: Mapping[str, str], name: str) -> None:
    for ours, theirs in wanted.items():
        if ours not in HEADERS:
            raise BadRequest(f"no column {ours!r}; ours are {', '.join(HEADERS)}{did_you_mean(ours, HEADERS)}")
        if theirs not in found:
            raise BadRequest(f"no column {theirs!r} in {name}; it has {', '.join(found)}{did_you_mean(theirs, found)}")


def _not_found(
    missing: Sequence[str],
    found: Sequence[str],
    name: str,
    chosen: Mapping[str, str],
    is_time: Callable[[str], bool],
) -> str:
    """The error, with a guess to copy: columns of dates are times, the others come in the usual order."""
    *most, last = missing
    names = f"{', '.join(most)} and {last}" if most else last
    which = f"cannot find the column{'s' if most else ''} for {names} in {name}, which has {', '.join(found) or 'none'}"
    guess = dict(chosen)
    free = [column for column in found if column not in chosen.values()]
    if not {"time", "begin", "end"} & set(chosen):
        dates = [column for column in free if is_time(column)]
        guess |= {"time": dates[0]} if len(dates) == 1 else dict(zip(("begin", "end"), dates, strict=False))
        free = [column for column in free if column not in dates]
    wanted = [one for one in NAMES if one not in chosen and (one != "predicate" or one in missing)]
    is_pair = "predicate" in missing and len(free) < len(wanted)
    wanted = [one for one in wanted if one != "predicate" or not is_pair]
    if len(free) < len(wanted):
        return f"{which}; expected at least a subject and an object"
    for ours in wanted:  # from an object in JSON, its name rather than its id, which comes first
        nested = (one for one in free[::-1] if "." in one and plain(one.partition(".")[0]) in HEADERS[ours])
        guess[ours] = next(nested, free[0])
        free.remove(guess[ours])
    pairs = ",".join(f"{ours}={guess[ours]}" for ours in HEADERS if ours in guess)
    option = f"--columns {shlex.quote(pairs)}" if wanted else ""
    if is_pair:
        named = " ".join([option, '--predicate "works at"']).strip()
        return f"{which}; if all rows have the same predicate, name it: {named}"
    return f"{which}; name the columns: {option} (by number if there is no header)"


def is_header(row: Sequence[str], next_rows: Sequence[Sequence[str]], is_date: Callable[[str], bool]) -> bool:
    """Whether the first row of a table names its columns: some name is recognised, or no cell looks like data."""
    known = {name for names in HEADERS.values() for name in names}
    if any(plain(cell) in known for cell in row) or not 3 <= len(row) <= 5 or not next_rows:
        return True
    if any(is_date(cell) for cell in row):
        return False
    return not any(cell and cell in {other[i] for other in next_rows if i < len(other)} for i, cell in enumerate(row))


def unique_names(header: Sequence[str]) -> list[str]:
    """Names for columns whose header is empty or stands twice: 'column 3', 'note (2)'."""
    found: list[str] = []
    for place, name in enumerate(header, 1):
        name = name.strip() or f"column {place}"
        number, unique = 2, name
        while unique in found:
            unique, number = f"{name} ({number})", number + 1
        found.append(unique)
    return found
