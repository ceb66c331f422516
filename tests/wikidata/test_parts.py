from collections import Counter

import polars as pl
import pytest

from knowwhen.errors import BadRequest
from knowwhen.wikidata.parts import Manifest, Part, check_complete
from knowwhen.wikidata.statements import FACTS, LABELS

MANIFEST = Manifest(dump="ab12", dump_name="dump.json", window_bytes=100, lang="en")


def finished(folder, damage="", **changes):
    part = Part(folder)
    part.begin(MANIFEST.model_copy(update=changes))
    part.add(0, pl.DataFrame(schema=FACTS), pl.DataFrame(schema=LABELS), Counter(items=2))
    part.finish(damage)
    return part


def test_a_folder_knows_what_is_finished_in_it(tmp_path):
    part = finished(tmp_path / "part")
    part.add(7, pl.DataFrame(schema=FACTS), pl.DataFrame(schema=LABELS), Counter(items=3, lines=1))
    (part.folder / "00000008.facts.parquet.part").write_bytes(b"half")
    assert Part(part.folder).begin(MANIFEST) == {0, 7}
    assert part.counts() == {"items": 5, "lines": 1}
    assert [path.name for path in part.files("facts")] == ["00000000.facts.parquet", "00000007.facts.parquet"]
    assert not list(part.folder.glob("*.part"))


def test_tables_without_counts_are_not_finished(tmp_path):
    part = finished(tmp_path / "part")
    (part.folder / "00000000.json").unlink()
    assert part.begin(MANIFEST) == set()
    assert part.files("facts") == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dump": "cd34"}, r"contains other work \(dump ab12 is not cd34\); delete it or choose another"),
        ({"window_bytes": 7}, r"contains other work \(window bytes 100 is not 7\)"),
        ({"lang": "fr"}, r"contains other work \(lang en is not fr\)"),
        ({"parts": 3}, r"contains other work \(parts 1 is not 3\)"),
    ],
)
def test_other_work_is_not_gone_on_with(tmp_path, changes, message):
    part = finished(tmp_path / "part")
    with pytest.raises(BadRequest, match=message):
        part.begin(MANIFEST.model_copy(update=changes))


def test_the_same_dump_may_have_another_name(tmp_path):
    assert finished(tmp_path / "part").begin(MANIFEST.model_copy(update={"dump_name": "other.json"})) == {0}


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(BadRequest, match="exists and does not belong to this work; choose another"):
        Part(tmp_path).begin(MANIFEST)
    assert [path.name for path in tmp_path.iterdir()] == ["precious.txt"]


def test_complete_parts_are_all_of_one_dump_each_once_and_finished(tmp_path):
    one, two = (finished(tmp_path / str(i), part=i, parts=2) for i in (1, 2))
    check_complete([two, one])
    with pytest.raises(BadRequest, match="part 1 is given twice of 2; give each part once"):
        check_complete([one, one, two])
    with pytest.raises(BadRequest, match="parts 2 are missing of 2"):
        check_complete([one])
    other = finished(tmp_path / "other", part=2, parts=2, lang="fr")
    with pytest.raises(BadRequest, match=r"other and .*1 do not belong together: lang fr is not en"):
        check_complete([one, other])
    (two.folder / "finished.json").unlink()
    with pytest.raises(BadRequest, match="2 is not complete; run its command again, then merge"):
        check_complete([one, two])
    with pytest.raises(
        BadRequest, match=r"cannot read manifest.json in .*nowhere; expected a folder that --part wrote"
    ):
        check_complete([one, Part(tmp_path / "nowhere")])
