import pytest

from knowwhen.errors import BadRequest
from knowwhen.wikidata.classes import dropped_by_default, read_classes


def test_the_default_list_has_what_the_paper_names():
    classes = dropped_by_default()
    for number, name in {
        13442814: "scholarly article",
        8054: "protein",
        4167410: "Wikimedia disambiguation page",
        11266439: "Wikimedia template",
        4167836: "Wikimedia category",
        14204246: "Wikimedia project page",
    }.items():
        assert classes[number] == name
    assert all(classes.values())


def test_classes_are_named_by_number_or_in_a_file(tmp_path):
    file = tmp_path / "more.txt"
    file.write_text("# stars\nQ523   star  # and more\n\nQ318\n")
    assert read_classes(["Q5,Q7187", str(file)], "--drop") == {5: "", 7187: "", 523: "star", 318: ""}


@pytest.mark.parametrize("name", ["star", "523", "Q0", "P31", ""])
def test_what_is_no_class_is_an_error(name):
    with pytest.raises(BadRequest, match=f"--drop is {name!r}; expected a Q number such as Q13442814, or a file"):
        read_classes([name], "--drop")


def test_a_bad_line_of_a_list_is_named(tmp_path):
    file = tmp_path / "more.txt"
    file.write_text("Q523 star\ngalaxy\n")
    with pytest.raises(BadRequest, match=r"more.txt:2: 'galaxy' is not a Q number"):
        read_classes([str(file)], "--drop")
