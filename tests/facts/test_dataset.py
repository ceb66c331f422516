import os

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import knowwhen as kw
from knowwhen.errors import BadInput, BadRequest, DamagedFile, DiskError
from knowwhen.facts.dataset import _split
from knowwhen.facts.formats.named import ReadOptions
from knowwhen.facts.table import OPEN

TABLE = pl.DataFrame(
    [
        ("a", "p", "b", "1990", "1995"),
        ("a", "p", "b", "1990", None),
        ("a", "p", "b", None, "1990"),
        ("a", "q", "b", None, None),
        ("c", "q", "b", "2000", "2000"),
    ],
    schema=["subject", "predicate", "object", "begin", "end"],
    orient="row",
)


@pytest.fixture
def dataset(tmp_path):
    TABLE.write_parquet(tmp_path / "facts.parquet")
    return kw.load(tmp_path / "facts.parquet", fractions=(0.2, 0.2))


@given(
    st.lists(st.tuples(*[st.integers(0, 3)] * 5), min_size=1),
    st.tuples(st.floats(0, 0.49), st.floats(0, 0.49)),
    st.integers(0, 9),
)
def test_a_split_is_a_partition_of_the_distinct_facts_whatever_their_order(rows, fractions, seed):
    facts = kw.Facts(*np.array(rows, np.int64).T.copy())
    options = ReadOptions(fractions=fractions, seed=seed)
    parts, counts = _split(facts, options)
    together = np.concatenate([part.rows() for part in parts.values()]).tolist()
    assert sorted(together) == sorted(map(list, set(rows)))
    assert counts.get("duplicates_left_out", 0) == len(rows) - len(set(rows))
    again, _ = _split(facts[np.arange(len(facts))[::-1]], options)
    assert all((parts[split].rows() == again[split].rows()).all() for split in parts)


def test_another_seed_is_another_split():
    facts = kw.Facts(*np.arange(500).reshape(5, 100))
    first, second = (_split(facts, ReadOptions(seed=seed))[0]["test"].rows() for seed in (0, 1))
    assert len(first) == len(second) == 10
    assert (first != second).any()


def test_fractions_must_leave_something_to_train_on():
    with pytest.raises(BadRequest, match=r"fractions is \(0.5, 0.5\); expected two numbers with a sum below 1"):
        _split(kw.Facts.empty(), ReadOptions(fractions=(0.5, 0.5)))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"fractions": 0.1}, r"fractions is 0.1; expected two, for valid and test, such as \(0.1, 0.1\)"),
        ({"fractions": (0.1,)}, r"fractions is \(0.1,\); expected two"),
        ({"columns": "subject=A"}, "columns is 'subject=A'; expected a dictionary such as"),
    ],
)
def test_arguments_of_another_kind_are_named(given, message):
    with pytest.raises(BadRequest, match=message):
        kw.load([("a", "p", "b")], **given)


def test_a_saved_dataset_loads_back_the_same(dataset, tmp_path):
    dataset.save(tmp_path / "saved")
    again = kw.load(tmp_path / "saved")
    assert again.hash == dataset.hash
    assert again.info() == dataset.info()
    assert (again.all_facts.begin == OPEN).sum() == 2


def test_the_hash_is_of_the_content(dataset, tmp_path):
    TABLE.write_csv(tmp_path / "facts.csv")
    assert kw.load(tmp_path / "facts.csv", fractions=(0.2, 0.2)).hash == dataset.hash
    TABLE.with_columns(subject=pl.col("subject").replace("c", "d")).write_csv(tmp_path / "other.csv")
    assert kw.load(tmp_path / "other.csv", fractions=(0.2, 0.2)).hash != dataset.hash


def test_labels_and_the_datasheet_survive(dataset, tmp_path):
    dataset.save(tmp_path / "saved")
    labels = pl.DataFrame({"key": ["a", "c"], "label": ["Anna", None]})
    labels.write_parquet(tmp_path / "saved" / "entities.parquet")
    with pytest.raises(DamagedFile, match=r"entities.parquet is damaged.*or delete SHA256SUMS if you changed"):
        kw.load(tmp_path / "saved")
    (tmp_path / "saved" / "SHA256SUMS").unlink()
    again = kw.load(tmp_path / "saved")
    assert again.entities.label(again.entities.id("a")) == "Anna"
    again.save(tmp_path / "twice")
    twice = kw.load(tmp_path / "twice")
    assert [twice.entities.label(i) for i in range(3)] == ["Anna", "b", "c"]
    assert twice.hash == dataset.hash


def test_a_folder_that_holds_something_is_not_written_over(dataset, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "precious.txt").write_text("x")
    with pytest.raises(BadRequest, match="exists and is not an empty folder"):
        dataset.save(tmp_path / "full")
    assert [p.name for p in (tmp_path / "full").iterdir()] == ["precious.txt"]


def test_a_save_that_fails_leaves_nothing_behind(dataset, tmp_path, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DiskError, match=r"cannot write to .*new: No space left on device; nothing was written"):
        dataset.save(tmp_path / "out" / "new")
    assert list((tmp_path / "out").iterdir()) == []


def test_check_counts_repetitions_leaks_and_the_unseen(tmp_path):
    rows = {
        "train": ["a,p,b,1999", "a,p,b,1999", "a,p,c,2000"],
        "valid": ["a,p,b,1999", "d,p,b,2001"],
        "test": ["a,q,c,2000", "d,p,b,2001"],
    }
    for split, lines in rows.items():
        (tmp_path / f"{split}.csv").write_text("\n".join(["s,p,o,time", *lines]) + "\n")
    report = kw.load(tmp_path).check()
    assert {key: value for key, value in report.items() if value} == {
        "duplicates_in_train": 1,
        "valid_facts_also_in_train": 1,
        "test_facts_also_in_valid": 1,
        "valid_facts_with_unseen_entities": 1,
        "valid_facts_with_unseen_timestamps": 1,
        "test_facts_with_unseen_entities": 1,
        "test_facts_with_unseen_predicates": 1,
        "test_facts_with_unseen_timestamps": 1,
    }


@pytest.mark.parametrize(
    ("sheet", "message"),
    [("name = ", "cannot read"), ('name = "x"\n', "needs a name and a granularity \\(minute, hour, day, month, year")],
)
def test_a_broken_datasheet_is_named(dataset, tmp_path, sheet, message):
    dataset.save(tmp_path / "saved")
    (tmp_path / "saved" / "dataset.toml").write_text(sheet)
    with pytest.raises(BadInput, match=message):
        kw.load(tmp_path / "saved")


def test_no_split_of_another_name(dataset):
    with pytest.raises(BadRequest, match="unknown split 'dev'; expected train, valid, test"):
        dataset.facts("dev")
