"""Results as files: written and read again, earlier formats, and which of them can be compared."""

import json
from dataclasses import replace

import pytest

from knowwhen.errors import DamagedFile, RunError
from knowwhen.reproduction import numbers
from knowwhen.reproduction.numbers import NUMBERS, numbers_of
from knowwhen.reproduction.results import chosen, comparable, path_of, read_all, read_result, write_result


def test_a_result_is_a_file_by_table_and_name(result, tmp_path):
    one = result(curve=[{"epoch": 5, "minutes": 1.5, "mrr": 0.5}], series={"times": ["2001"]}, tried=("model.rank",))
    one = replace(one, point={"model.rank": 156})
    write_result(one, tmp_path)
    assert path_of(one, tmp_path) == tmp_path / "table2" / "icews14-tntcomplex-rank156-seed0.json"
    assert read_all(tmp_path) == [one]
    write_result(replace(one, minutes=3.0), tmp_path)
    assert [r.minutes for r in read_all(tmp_path)] == [3.0]


def test_a_result_from_before_there_were_numbers_has_the_first(result, tmp_path, monkeypatch):
    """Also the other fields that files lacked then."""
    new = ("numbers", "memory_gb", "origin", "valid", "curve", "facts_per_second", "threads", "versions", "series")
    values = {name: value for name, value in result().to_dict().items() if name not in new}
    (tmp_path / "table2").mkdir()
    (tmp_path / "table2" / "old.json").write_text(json.dumps(values))
    monkeypatch.setitem(NUMBERS, "training", 3)
    (read,) = read_all(tmp_path)
    assert read.numbers == {"training": 1, "validation": 1, "evaluation": 1}
    assert (read.memory_gb, read.curve, read.origin) == (None, [], "run")


@pytest.mark.parametrize("text", ["{", "[]", '{"table": "table2"}', "[" * 100_000])
def test_a_file_that_is_no_result_is_named(text, tmp_path):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(RunError, match=r"x\.json.*; restore it, or delete it and measure it again"):
        read_result(path)
    assert issubclass(DamagedFile, RunError)


def test_a_result_of_a_newer_version_is_refused(result, tmp_path):
    write_result(replace(result(), numbers={**result().numbers, "training": 99}), tmp_path)
    with pytest.raises(RunError, match=r"seed0\.json was measured by a newer version of knowwhen; upgrade to report"):
        read_all(tmp_path)


def test_numbers_are_of_what_a_result_depends_on():
    trained = {"training.epochs": 3, "model.evidence": []}
    assert set(numbers_of(trained)) == {"training", "validation", "evaluation"}
    assert set(numbers_of({**trained, "model.evidence": ["context"]}, asks_times=True)) == set(NUMBERS)
    assert set(numbers_of({"window": 3})) == {"validation", "evaluation"}  # counting


def test_only_what_was_validated_alike_is_compared(result, monkeypatch):
    monkeypatch.setitem(numbers.NUMBERS, "validation", 2)
    old = [result(valid_mrr=mrr, seed=i) for i, mrr in enumerate((0.9, 0.8))]
    new = [replace(one, numbers={**one.numbers, "validation": 2}, valid_mrr=one.valid_mrr - 0.3) for one in old]
    assert comparable([*old, *new]) == new, "the newest of equally many"
    assert comparable([*old, *new[:1]]) == old, "a choice among more"
    assert chosen([*new, *old]) == new[0]
    assert [one.is_provisional for one in (*old, *new)] == [True, True, False, False]
    assert replace(new[0], origin="page").is_provisional
