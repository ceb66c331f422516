"""The benchmark layouts, on lines written here and on the published files."""

import pytest

import knowwhen as kw
from knowwhen.errors import BadFacts, BadRequest


def folder(path, **files):
    for name, text in files.items():
        (path / f"{name}.txt").write_text(text, encoding="utf-8")
    return path


def named(dataset, split="train"):
    return dataset.named(dataset.facts(split)).rows()


def test_icews_quadruples_are_events_by_day(tmp_path):
    source = folder(tmp_path, train="A\tConsult\tB\t2014-05-13\n", test='C "x"\tConsult\tB\t2014-05-14\n')
    dataset = kw.load(source)
    assert named(dataset) == [("A", "Consult", "B", "2014-05-13", "2014-05-13")]
    assert named(dataset, "test") == [('C "x"', "Consult", "B", "2014-05-14", "2014-05-14")]
    assert len(dataset.valid) == 0


def test_a_dataset_can_be_loaded_coarser_than_written(tmp_path):
    source = folder(tmp_path, train="A\tp\tB\t2014-05-13\nA\tp\tC\t2014-06-01\nA\tp\tC\t2014-06-02\n")
    assert len(kw.load(source).timeline) == 3
    assert kw.load(source, granularity="month").timeline.labels() == ["2014-05", "2014-06"]
    assert kw.load(source, granularity="year").timeline.labels() == ["2014"]
    with pytest.raises(BadRequest, match="unknown granularity 'week'; expected minute, hour, day, month, year"):
        kw.load(source, granularity="week")


def test_a_coarse_date_on_a_fine_axis_is_a_wider_span_never_a_false_date(tmp_path):
    source = folder(tmp_path, train="A\tp\tB\t2014-05-13\nA\tp\tC\t2014-06\nA\tp\tD\t2014-06-02\n")
    assert named(kw.load(source)) == [
        ("A", "p", "B", "2014-05-13", "2014-05-13"),
        ("A", "p", "C", "2014-06-01", "2014-06-30"),
        ("A", "p", "D", "2014-06-02", "2014-06-02"),
    ]


def test_yago_folds_the_modifier_into_the_predicate(tmp_path):
    train = (
        "<a>\t<r>\t<b>\n"
        '<a>\t<r>\t<b>\t<occursSince>\t"1994-##-##"\n'
        '<a>\t<r>\t<b>\t<occursUntil>\t"1997-05-01"\n'
        "<a>\t<r>\t<b>\t<occursSince>\n"
    )
    dataset = kw.load(folder(tmp_path, train=train))
    assert named(dataset) == [
        ("<a>", "<r>", "<b>", None, None),
        ("<a>", "<r><occursSince>", "<b>", "1994", "1994"),
        ("<a>", "<r><occursUntil>", "<b>", "1997", "1997"),
    ]
    assert dataset.counts == {"modifier_without_date": 1}


def test_wikidata12k_has_open_ends_and_spans_written_backwards(tmp_path):
    train = (
        "Q1\tP1\tQ2\t1926-##-##\t1929-##-##\n"
        "Q1\tP1\tQ3\t####-##-##\t99-##-##\n"
        "Q1\tP1\tQ4\t2000-##-##\t####-##-##\n"
        "Q1\tP1\tQ5\t1901-##-##\t1814-##-##\n"
    )
    dataset = kw.load(folder(tmp_path, train=train))
    assert named(dataset) == [
        ("Q1", "P1", "Q2", "1926", "1929"),
        ("Q1", "P1", "Q3", None, "0099"),
        ("Q1", "P1", "Q4", "2000", None),
        ("Q1", "P1", "Q5", "1814", "1901"),
    ]
    assert dataset.counts == {"ends_before_begin": 1}


def test_the_format_can_be_named_and_then_rows_must_fit_it(tmp_path):
    source = folder(tmp_path, train="A\tp\tB\t2014-05-13\n")
    with pytest.raises(BadFacts, match=r"train\.txt:1: 4 columns in .*; expected 5 \(subject, predicate"):
        kw.load(source, format="wikidata12k")
    with pytest.raises(BadRequest, match=r"unknown format 'icew'; .*did you mean 'icews'\?"):
        kw.load(source, format="icew")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("icews14", {"train": 72826, "valid": 8941, "test": 8963, "entities": 7128, "predicates": 230,
                     "timestamps": 365, "granularity": "day", "first": "2014-01-01", "last": "2014-12-31",
                     "events": 90730}),
        ("icews05-15", {"train": 368962, "valid": 46275, "test": 46092, "entities": 10488, "predicates": 251,
                        "timestamps": 4017, "granularity": "day", "first": "2005-01-01", "last": "2015-12-31"}),
        ("yago15k", {"train": 110439, "valid": 13815, "test": 13800, "entities": 15403, "predicates": 51,
                     "timestamps": 169, "granularity": "year", "static": 101353}),
        ("wikidata12k", {"train": 32497, "valid": 4062, "test": 4062, "entities": 12554, "predicates": 24,
                         "granularity": "year", "half_open": 6140, "static": 0, "ends_before_begin": 10}),
    ],
)  # fmt: skip
def test_counts_of_the_published_files(real_data, name, expected):
    info = kw.load(real_data(name)).info()
    assert {key: info[key] for key in expected} == expected


def test_entities_that_training_never_sees_are_counted(real_data):
    report = kw.load(real_data("icews14")).check()
    assert report["test_facts_with_unseen_entities"] == 146
    assert report["duplicates_in_train"] == 0
