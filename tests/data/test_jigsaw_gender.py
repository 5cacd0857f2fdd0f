"""Jigsaw's comments on women or men: which are kept, their labels, and what is refused."""

import csv
import io
from functools import partial

import pytest
from data.tables import load_raw, raw_files
from hypothesis import given
from hypothesis import strategies as st

from exparity.core.errors import InputError
from exparity.data import DATASETS
from exparity.data.jigsaw_gender import FILES

HEADERS = {
    "train": ["id", "target", "comment_text", "asian", "female", "male", "rating"],
    "test_public_expanded": ["id", "comment_text", "toxicity", "asian", "female", "male"],
}
HEADERS["test_private_expanded"] = HEADERS["test_public_expanded"]


def comment(id, male="", female="", toxicity=0.0, text='He said, "No".\nShe left.'):
    return {"id": id, "male": male, "female": female, "toxicity": toxicity, "comment_text": text}


MEN, WOMEN = {"male": 1.0, "female": 0.0}, {"male": 0.0, "female": 0.6}


def source_of(folder, train=(), public=(), private=()):
    """The three files in the published columns, with one comment of each gender beside others."""
    contents = []
    for number, (name, rows) in enumerate(zip(HEADERS, (train, public, private), strict=True)):
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, HEADERS[name], restval="0.0", lineterminator="\n")
        writer.writeheader()
        for row in [comment(f"{number}0", **MEN), comment(f"{number}1", **WOMEN), *rows]:
            values = dict(row)
            if name == "train":
                values["target"] = values.pop("toxicity")
            writer.writerow(values)
        contents.append((FILES[name], [text.getvalue()[:-1]]))
    return raw_files(folder, contents)


load = partial(load_raw, "jigsaw_gender")


def test_a_comment_becomes_an_example(tmp_path):
    found = load(source_of(tmp_path, train=[comment("59848", 0.2, 0.9, 0.8)]))
    example = found["59848"]
    assert example.words == ("He", "said,", '"No".', "She", "left.")
    assert (example.label, example.group, example.split) == (1, "female", "train")
    assert example.attributes == {"gender_agreement": "0.9"}
    assert {id: e.split for id, e in found.items() if id != "59848"} == {
        "00": "train", "01": "train", "10": "test", "11": "test", "20": "test", "21": "test",
    }  # fmt: skip
    assert DATASETS.get("jigsaw_gender").facts.sizes == (53_154, 5_448)
    assert 53_154 == 42_523 + 10_631  # Chen et al. 2024, C.2


@pytest.mark.property
@given(st.lists(st.tuples(*[st.sampled_from([0.0, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 1.0])] * 3)))
def test_the_selection_by_a_naive_count(tmp_path_factory, shares):
    rows = [comment(f"{i + 100}", *values) for i, values in enumerate(shares)]
    source = source_of(tmp_path_factory.mktemp("jigsaw"), train=rows)
    found = load(source)
    expected = {}
    for i, (male, female, toxicity) in enumerate(shares):
        toxic = toxicity > 0.5
        if female - male > 0.5:
            expected[f"{i + 100}"] = ("female", toxic)
        if male - female > 0.5:
            expected[f"{i + 100}"] = ("male", toxic)
    assert {id: (e.group, e.label == 1) for id, e in found.items() if len(id) > 2} == expected


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (comment("9", "many", 0.0), r"train.csv:6: not as in the published file"),
        (comment("9", 1.0, 0.0, ""), r"train.csv:6: not as in the published file"),
    ],
)
def test_bad_rows_are_named(row, message, tmp_path):
    with pytest.raises(InputError, match=message):
        load(source_of(tmp_path, train=[row]))


def test_comments_that_nobody_was_asked_about_are_left_out(tmp_path):
    rows = [comment("100"), comment("101", 1.0, 0.0, text="  "), comment("102", 0.5, 0.0)]
    assert len(load(source_of(tmp_path, train=rows, public=rows[1:]))) == 6
