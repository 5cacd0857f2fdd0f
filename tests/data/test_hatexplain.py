"""HateXplain: labels, rationales and communities by hand and by a naive count, and refusals."""

import json
from collections import Counter
from functools import partial

import pytest
from data.tables import load_raw, raw_files
from support import REAL, need

from exparity.core.errors import InputError
from exparity.data import DATASETS, load_with_facts
from exparity.data.files import DataSource
from exparity.data.hatexplain import COMMUNITIES, LABELS, PARTS, POSTS, REST

NOBODY = ["None"]
SIZES = {"train": 15_383, "val": 1_922, "test": 1_924}


def post(labels="HHO", targets=(["Women"], ["Women", "Men"], NOBODY), marks=((1, 0), (1, 1))):
    names = {"H": "hatespeech", "O": "offensive", "N": "normal"}
    return {
        "post_tokens": ["some", "words"],
        "annotators": [
            {"label": names[label], "annotator_id": i, "target": target}
            for i, (label, target) in enumerate(zip(labels, targets, strict=True))
        ],
        "rationales": [list(of_one) for of_one in marks],
    }


NAMED = [post(targets=[[community]] * 3) for community in (*COMMUNITIES, "None")]


def source_of(folder, **parts):
    """Write posts by part; without any, one a community in each part."""
    named = {part: parts.get(part, NAMED) for part in SIZES}
    rows = {f"{part}{i}": row for part, rows in named.items() for i, row in enumerate(rows)}
    ids = {part: [f"{part}{i}" for i in range(len(rows))] for part, rows in named.items()}
    return raw_files(folder, [(POSTS, [rows]), (PARTS, [ids])])


load = partial(load_raw, "hatexplain")


class TestPosts:
    @pytest.mark.parametrize(("labels", "name"), [("HHO", "hatespeech"), ("NNN", "normal")])
    def test_a_post_becomes_an_example_by_what_two_annotators_say(self, labels, name, tmp_path):
        one = load(source_of(tmp_path, test=[post(labels), *NAMED]))["test0"]
        assert (one.words, one.group, one.split) == (("some", "words"), "Women", "test")
        assert (LABELS[one.label], one.match_id) == (name, None)

    @pytest.mark.parametrize(
        ("marks", "union", "majority"),
        [
            ([(1, 0), (0, 1)], (1, 1), (0, 0)),
            ([(1, 0), (1, 1), (0, 0)], (1, 1), (1, 0)),
            ([], None, None),
        ],
    )
    def test_rationales_of_any_or_of_most(self, marks, union, majority, tmp_path):
        source = source_of(tmp_path, test=[post(marks=marks), *NAMED])
        assert load(source)["test0"].rationale == union
        assert load(source, rationales="majority")["test0"].rationale == majority

    def test_posts_without_a_majority_are_left_out_and_counted(self, tmp_path, caplog):
        caplog.set_level("WARNING")  # the digest of each file is no warning
        found = load(source_of(tmp_path, test=[post("HON"), *NAMED], train=[post("NOH"), *NAMED]))
        assert not {"test0", "train0"} & found.keys()
        assert "left out 2 posts on whose label no two annotators agree" in caplog.messages[0]

    @pytest.mark.parametrize(
        ("targets", "group"),
        [
            ([["Women"], ["Women", "Women"], ["Men"]], "Women"),
            ([["Women"], ["Men", "Men"], NOBODY], REST),  # a tie: naming one twice counts once
            ([["Hindu"], ["Hindu"], ["Women"]], REST),  # another community than those chosen
            ([NOBODY, NOBODY, ["Women"]], "Women"),
            ([NOBODY, NOBODY, []], REST),
        ],
    )
    def test_the_group_is_the_community_that_most_name(self, targets, group, tmp_path):
        source = source_of(tmp_path, test=[post(targets=targets), *NAMED])
        assert load(source)["test0"].group == group

    def test_communities_are_groups_in_the_order_of_the_option(self, tmp_path):
        source = source_of(tmp_path)
        options = {"groups": ["Jewish", "African"], "verify": False}
        examples, facts = load_with_facts("hatexplain", source, options)
        assert (facts.attribute, facts.groups) == ("community", ("Jewish", "African", REST))
        sizes = Counter(e.group for e in examples if e.split == "test")
        assert sizes == {"Jewish": 1, "African": 1, REST: 4}


class TestParts:
    def test_published_parts_are_dealt_to_splits(self, tmp_path):
        source = source_of(tmp_path)
        dealt = {"train": ["train"], "test": ["val", "test"]}
        for options, split in (({}, "train"), (dealt, "test")):
            found = load(source, **options)
            parts = {(e.split, id.rstrip("0123456789")) for id, e in found.items()}
            assert parts == {("train", "train"), (split, "val"), ("test", "test")}

    def test_texts_to_train_on(self, tmp_path):
        source = source_of(tmp_path, train=[])
        table = tmp_path / "texts.jsonl"
        table.write_text('{"text": "a  few words", "label": "normal"}\n')
        found = load(source, train_texts=str(table))
        assert Counter(e.split for e in found.values()) == {"train": 1, "test": 6}
        one = found["text-00001"]
        assert (one.words, one.label) == (("a", "few", "words"), 1)
        assert (one.group, one.rationale) == (REST, None)
        both = load(source, train_texts=str(table), train=["val"])
        assert Counter(e.split for e in both.values()) == {"train": 7, "test": 6}
        table.write_text('{"text": "a", "label": "Normal"}\n')
        with pytest.raises(InputError, match=r"texts.jsonl:1: label must be one of hatespeech, no"):
            load(source, train_texts=str(table))


class TestFiles:
    def test_posts_that_a_part_lacks_are_counted(self, tmp_path):
        source = source_of(tmp_path)
        path = tmp_path / POSTS.path
        rows = {id: row for id, row in json.loads(path.read_text()).items() if "train" not in id}
        path.write_text(json.dumps(rows))
        with pytest.raises(
            InputError, match="lacks 6 of the 6 posts of part 'train'; get https://"
        ):
            load(source)

    def test_malformed_posts_are_named_and_not_quoted(self, tmp_path):
        bad = {"annotators": [{"label": "secret", "target": []}] * 2}
        source = source_of(tmp_path, test=[*NAMED, {**post(), **bad}])
        with pytest.raises(InputError, match=r"dataset.json: post 'test6': not as in ") as why:
            load(source)
        assert "secret" not in str(why.value)


class TestReal:
    def test_all_by_a_naive_count(self):
        need((REAL / POSTS.path).is_file(), f"HateXplain below {REAL} (or EXPARITY_DATA)")
        source = DataSource(REAL, download=False)
        rows, ids = (json.loads((REAL / file.path).read_text()) for file in (POSTS, PARTS))
        assert {part: len(of_part) for part, of_part in ids.items()} == SIZES
        assert DATASETS.get("hatexplain").facts.sizes == (15_383 + 1_922, 1_924)
        found = load(source, train=["val"])
        assert found.keys() == {*ids["val"], *ids["test"]}
        groups = Counter()
        for id, one in found.items():
            row = rows[id]
            votes = [annotator["label"] for annotator in row["annotators"]]
            assert votes.count(LABELS[one.label]) >= 2
            assert " ".join(row["post_tokens"]) == one.text
            any_of = [0] * len(one.words)
            for marks in row["rationales"]:
                any_of = [max(pair) for pair in zip(any_of, marks, strict=True)]
            assert one.rationale == (tuple(any_of) if row["rationales"] else None)
            assert (one.rationale is None) == (LABELS[one.label] == "normal")
            counts = {
                name: sum(name in a["target"] for a in row["annotators"])
                for a in row["annotators"]
                for name in a["target"]
                if name != "None"
            }
            first = [name for name, n in counts.items() if n == max(counts.values())]
            named = first[0] if len(first) == 1 else None
            assert one.group == (named if named in COMMUNITIES else REST)
            groups[one.split, one.group] += 1
        published = [267, 167, 166, 152, 121, 1051]
        assert [groups["test", name] for name in (*COMMUNITIES, REST)] == published
