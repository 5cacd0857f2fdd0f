"""Datasets: facts, what loading refuses, the GECO reader's oddities, and raw files."""

import io
import json
import re
import zipfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from support import REAL, digest_of, need

from exparity.artefacts.lineage import sha256_of
from exparity.core.errors import InputError
from exparity.data import DATASETS, check_examples, load_dataset
from exparity.data.facts import DatasetFacts, RemoteFile
from exparity.data.files import DataSource, read_jsonl
from exparity.data.geco import example_of
from exparity.tools.data import raw_files
from exparity.types import Example

REGISTERED = [id for id in DATASETS.ids() if not DATASETS.get(id).facts.path_options]
REMOTE = [id for id in REGISTERED if DATASETS.get(id).facts.files]
NOWHERE = DataSource(Path("nowhere"), download=False)


@pytest.mark.contract
@pytest.mark.parametrize("id", REMOTE)
def test_files_are_pinned_and_stay_in_the_data_folder(id):
    for file in DATASETS.get(id).facts.files:
        assert file.sha256 is None or len(bytes.fromhex(file.sha256)) == 32
        path = Path(file.path)
        assert not path.is_absolute()
        assert ".." not in path.parts
        if "githubusercontent" in file.url or "huggingface" in file.url:
            commit = file.url.split("/")[5 if "githubusercontent" in file.url else 7]
            assert len(bytes.fromhex(commit)) == 20


@pytest.mark.contract
class TestEachOne:
    """Facts of every dataset hold: the embedded ones, and raw files where they are here."""

    @pytest.mark.parametrize("id", REGISTERED)
    def test_it_has_what_its_facts_tell(self, id):
        facts = DATASETS.get(id).facts
        if not all((REAL / file.path).is_file() for file in facts.files):
            pytest.skip(f"raw files of {id} below {REAL} (or EXPARITY_DATA) are missing")
        is_published = all(file.sha256 for file in facts.files)
        options = {} if is_published else {"verify": False}
        found = load_dataset(id, DataSource(REAL, download=False), options)
        keys = [(e.split, e.example_id) for e in found]
        assert keys == sorted(set(keys))
        assert {e.group for e in found} == set(facts.groups or ("",))
        assert {e.label for e in found} == set(range(len(facts.labels)))
        assert all((e.match_id is not None) == facts.matched for e in found)
        marked = {e.rationale is not None for e in found}  # of raw texts, some may have none
        assert marked == {facts.rationales} or (facts.files and max(marked) == facts.rationales)
        sizes = Counter(e.split for e in found)
        assert sizes.keys() == {"train", "test"}
        assert facts.sizes in (None, (sizes["train"], sizes["test"]))
        sets: dict[str, list[Example]] = {}
        for example in found if facts.matched else ():
            sets.setdefault(example.match_id, []).append(example)
        for members in sets.values():
            assert sorted(m.group for m in members) == sorted(facts.groups)
            assert len({m.split for m in members}) == 1

    @pytest.mark.parametrize("id", REMOTE)
    def test_files_that_are_missing_or_not_the_published_ones_are_refused(self, id, tmp_path):
        files = DATASETS.get(id).facts.files
        source = DataSource(tmp_path, download=False)
        with pytest.raises(InputError, match=re.escape(f"{tmp_path / files[0].path} is missing")):
            load_dataset(id, source)
        for file in files:
            (tmp_path / file.path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / file.path).write_bytes(b"mine")
        digest = sha256_of(tmp_path / files[0].path)
        with pytest.raises(InputError, match=rf"{digest}\).* set .*'verify: false'"):
            load_dataset(id, source)


OBSERVED = {"paired": False, "imbalance": 0.8, "proxy": 0.8}
GENERATED = [
    ("pairs_all", {}, "2f8bace1169d36072a195b251f73f5dd36dc760fc6df4e604a611db30beb670f"),
    ("pairs_all", {"n_pairs": 1200, "test_share": 0.08},
     "4ea1e3b05592997d3d144fc274e6ec769376e657d7a32c03f8ffa08031fe4f3f"),
    ("pairs_subj", {}, "9f1e012944dfec119af53ca025589abed6afd5f11351c6259c6535ce3eafe0c2"),
    ("stereotypes", {}, "d3ac2809d76ab5a749337cac680ee71e6a10110911652c1cf6f668f01e241ad9"),
    ("bios", {}, "9cd3e14a11d9ca14dbc65c3f0765d21f3c29f81e3e882c65556d426362e6cbb8"),
    ("bios", OBSERVED, "5eba2874aab1ff85fd5dda7e4b9959dfc14527c4b061bec75926742777d9dd37"),
    ("bios", {**OBSERVED, "ambiguity": 0.5},
     "d2249aa69b29c1409c080e3964b95fef1cf7a81ee6bd8e0513d2e3e5eae27f2f"),
]  # fmt: skip


class TestGenerated:
    @pytest.mark.parametrize(("id", "options", "digest"), GENERATED)
    def test_texts_stay_the_same_byte_for_byte(self, id, options, digest):
        assert digest_of(load_dataset(id, NOWHERE, options)) == digest


FACTS = DatasetFacts(
    attribute="gender",
    groups=("male", "female"),
    labels=("no", "yes"),
    matched=True,
    rationales=True,
    licence="x",
    reference="y",
)


def example(id="1", **changes) -> Example:
    words = {"words": ("a", "b"), "label": 0, "group": "male", "split": "test"}
    return Example(example_id=id, **{**words, **changes})


GOOD = [
    example("1"),
    example("2", group="female", label=1),
    example("3", split="train", rationale=(0, 1)),
]


class TestCheckExamples:
    @pytest.mark.parametrize(
        ("examples", "message"),
        [
            ([*GOOD, example("1")], "dataset d: example id '1' occurs more than once"),
            ([*GOOD, example("9", words=(" ", "\t"))], "example '9': the text is empty"),
            ([*GOOD, example("9", words_b=("",))], "example '9': the second text is empty"),
            ([*GOOD, example("9", group="")], "example '9': group '' is not one of male, female"),
            ([*GOOD, example("9", label=2)], r"example '9': label 2 is not in 0\.\.1"),
            ([*GOOD, example("9", rationale=(1,))], "'9': 1 rationale marks for 2 words"),
            ([GOOD[0], GOOD[2]], "dataset d: group 'female' has no test example"),
        ],
    )
    def test_others_are_refused_by_name(self, examples, message):
        with pytest.raises(InputError, match=message):
            check_examples("d", examples, FACTS)

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"groups": tuple(map(str, range(51)))}, "51 groups, of at most 50: 1,275 comparisons"),
            ({"labels": tuple(map(str, range(1001)))}, "1,001 classes, of at most 1,000"),
            ({"groups": ("male",)}, "dataset d: the only group is 'male'; it takes two"),
            ({"labels": ("yes",)}, "dataset d: the only class is 'yes'; it takes two"),
            ({"labels": ("no", "no")}, "a class is named twice in no, no"),
        ],
    )
    def test_facts_that_nothing_can_be_compared_by(self, changes, message):
        with pytest.raises(InputError, match=message):
            check_examples("d", GOOD, replace(FACTS, **changes))


# GECO's format


def row(index=1, gender="male", **changes):
    words = {"sentence": ["He", "ran", "."], "ground_truth": [1, 0, 0]}
    return {**words, "gender": gender, "target": 1, "sentence_idx": index, **changes}


def jsonl(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [r if isinstance(r, str) else json.dumps(r) for r in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def read_geco(path):
    return [example_of(line, "test", 0) for _, line in read_jsonl(path)]


class TestGecoReader:
    def test_blank_words_go_with_their_marks_and_blanks_are_stripped(self, tmp_path):
        changed = row(1, sentence=["He ", " ", "\u00a0", "\tran", ""], ground_truth=[1, 1, 0, 0, 1])
        too_many = row(3, sentence=["Go", " ", "!"], ground_truth=[1, 1, 0, 0])
        path = jsonl(tmp_path / "a.jsonl", [changed, row(2, sentence=["Go", " ", "!"]), too_many])
        assert [(e.words, e.rationale) for e in read_geco(path)] == [
            (("He", "ran"), (1, 0)),
            (("Go", "!"), (1, 0)),
            (("Go", "!"), None),
        ]

    @pytest.mark.parametrize(
        ("bad", "message"),
        [
            ("{", "not valid JSON"),
            ("[1]", r"expected a JSON object, found \[1\]"),
            ({k: v for k, v in row().items() if k != "gender"}, r"\(KeyError: 'gender'\)"),
            (row(ground_truth=[0] * 5), "ValueError"),
        ],
    )
    def test_a_malformed_row_names_file_and_line(self, bad, message, tmp_path):
        folder = tmp_path / "geco" / "binary_gender_all"
        jsonl(folder / "train.jsonl", [row(1), "", bad])
        with pytest.raises(InputError, match=rf"train.jsonl:3: .*{message}"):
            load_dataset("geco_all", DataSource(tmp_path), {"verify": False})


SENTENCES = {  # authored; a word with a blank in it, as the published files have
    "male": ("He", "greets", "a", "French man"),
    "female": ("She", "greets", "a", "French woman"),
    "neutral": ("They", "greet", "a", "French person"),
}
TARGETS = {"male": 1, "female": 0, "neutral": 2}
SUBJ_UNMARKED = {"train": (3334, 3335), "test": (562, 563)}  # lines with a mark too many


def triplet(index):
    """A set of three sentences."""
    return [
        row(index, gender, sentence=list(words), ground_truth=[1, 1, 0, 1], target=TARGETS[gender])
        for gender, words in SENTENCES.items()
    ]


@pytest.mark.parametrize(
    ("id", "folder", "groups"),
    [
        ("geco_subj", "binary_gender_subj", ("male", "female")),
        ("geco_nonbinary_all", "non_binary_gender_all", ("male", "female", "neutral")),
    ],
)
def test_sets_of_both_files_with_a_class_for_each_gender(id, folder, groups, tmp_path):
    for split, numbers in (("train", (0, 1)), ("test", (2,))):
        lines = [one for i in numbers for one in triplet(i) if one["gender"] in groups]
        jsonl(tmp_path / "geco" / folder / f"{split}.jsonl", lines)
    facts = DATASETS.get(id).facts
    assert facts.groups == groups
    found = load_dataset(id, DataSource(tmp_path, download=False), {"verify": False})
    assert all(facts.labels[e.label] == e.group for e in found)
    sets = (("train", "0000"), ("train", "0001"), ("test", "0002"))
    assert Counter((e.split, e.match_id) for e in found) == dict.fromkeys(sets, len(groups))


@pytest.mark.parametrize(("variant", "too_many"), [("all", {}), ("subj", SUBJ_UNMARKED)])
def test_the_published_three_genders(variant, too_many):
    """Groups, rationales and what is odd by a naive count of the raw files."""
    folder = REAL / "geco" / f"non_binary_gender_{variant}"
    need(folder.is_dir(), f"GECO in {REAL} (name its folder in EXPARITY_DATA)")
    found = {
        (e.split, e.example_id): e
        for e in load_dataset(f"geco_nonbinary_{variant}", DataSource(REAL, download=False))
    }
    empty, rows = 0, 0
    for split in ("train", "test"):
        lines = (folder / f"{split}.jsonl").read_text().splitlines()
        for number, line in enumerate(lines, start=1):
            row = json.loads(line)
            one = found[split, f"{row['sentence_idx']:04d}-{row['gender']}"]
            rows += 1
            assert (one.group, one.label) == (row["gender"], TARGETS[row["gender"]])
            assert one.text.split() == " ".join(row["sentence"]).split()
            if number in too_many.get(split, ()):
                assert len(row["ground_truth"]) == len(row["sentence"]) + 1
                assert one.rationale is None
                continue
            marks = zip(row["sentence"], row["ground_truth"], strict=True)
            on_blanks = [mark for word, mark in marks if not word.strip()]
            assert sum(one.rationale) == sum(row["ground_truth"]) - sum(on_blanks)
            empty += not any(one.rationale)
    assert rows == len(found) == 3 * 1610
    assert Counter(key[0] for key in found) == {"train": 3864, "test": 966}
    assert empty == {"all": 3, "subj": 33}[variant]


# Raw files


CONTENT = b'{"a": 1}\n'
FILE = RemoteFile("some/file.jsonl", "https://example.org/file.jsonl", "")


class Answer:
    def __init__(self, content=CONTENT, error=None):
        self.content, self.error = content, error

    def raise_for_status(self):
        if self.error:
            raise self.error


@pytest.fixture
def web(monkeypatch):
    """Answers in place of the network: set ``web.answer`` to an answer or an error."""
    import requests

    state = SimpleNamespace(answer=Answer(), asked=[])

    def get(url, **options):
        state.asked.append(url)
        if isinstance(state.answer, Exception):
            raise state.answer
        return state.answer

    monkeypatch.setattr(requests, "get", get)
    return state


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "content"
    path.write_bytes(CONTENT)
    return replace(FILE, sha256=sha256_of(path))


class TestRawFiles:
    def test_a_missing_file_is_downloaded_once_and_verified(self, tmp_path, file, web):
        for _ in range(2):
            path = DataSource(tmp_path / "data").find(file)
            assert path.read_bytes() == CONTENT
            assert web.asked == [file.url]

    def message(self, source, file, **options):
        with pytest.raises(InputError) as refused:
            source.find(file, **options)
        text = str(refused.value)
        for part in (file.url, file.sha256, str((source.folder / file.path).absolute())):
            assert part in text
        return text

    @pytest.mark.parametrize("download", [True, False])
    def test_altered_files_are_refused_and_kept(self, tmp_path, file, web, download, caplog):
        path = tmp_path / file.path
        path.parent.mkdir()
        path.write_bytes(b"mine")
        assert "is altered (its SHA-256 is " in self.message(
            DataSource(tmp_path, download=download), file
        )
        assert path.read_bytes() == b"mine"
        with caplog.at_level("INFO"):
            assert DataSource(tmp_path, download=download).find(file, verify=False) == path
        assert f"not verified, its SHA-256 is {sha256_of(path)}" in caplog.text

    @pytest.mark.parametrize("verify", [True, False])
    def test_an_altered_download_is_refused_and_leaves_nothing(self, tmp_path, file, web, verify):
        web.answer = Answer(b"something else")
        message = self.message(DataSource(tmp_path / "d"), file, verify=verify)
        assert "was downloaded altered" in message
        assert list((tmp_path / "d").rglob("*.*")) == []

    @pytest.fixture
    def archive(self):
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as members:
            members.writestr("folder/file.jsonl", CONTENT)
            members.writestr("other.jsonl", b"other")
        return content.getvalue()

    def test_a_file_of_an_archive_is_unpacked_and_verified(self, archive, tmp_path, file, web):
        web.answer = Answer(archive)
        file = replace(file, member="folder/file.jsonl")
        assert DataSource(tmp_path / "d").find(file).read_bytes() == CONTENT
        other = replace(file, member="other.jsonl", path="other")
        assert "was downloaded altered" in self.message(DataSource(tmp_path / "d"), other)
        assert "get other.jsonl of https://" in self.message(DataSource(tmp_path / "d"), other)

    def test_what_only_a_person_can_get_is_not_downloaded(self, tmp_path, file, web):
        file = replace(file, by_hand="with an account there")
        assert ", with an account there, and put it there" in self.message(
            DataSource(tmp_path), file
        )
        assert web.asked == []

    @pytest.mark.parametrize("reason", ["ConnectionError", "HTTPError", "KeyError", "BadZipFile"])
    def test_a_failed_download_names_the_reason_and_leaves_nothing(
        self, reason, archive, tmp_path, file, web
    ):
        import requests

        web.answer = {
            "ConnectionError": requests.ConnectionError("no route"),
            "HTTPError": Answer(error=requests.HTTPError("404")),
            "KeyError": Answer(archive),
            "BadZipFile": Answer(b"<html>not found</html>"),
        }[reason]
        member = None if reason == "HTTPError" else "folder/no.jsonl"
        text = self.message(DataSource(tmp_path / "d"), replace(file, member=member))
        assert f"is missing and could not be downloaded ({reason})" in text
        assert list((tmp_path / "d").rglob("*.*")) == []


def test_the_command_fetches_once_and_names_what_is_altered_or_missing(
    tmp_path, file, web, monkeypatch
):
    entry = SimpleNamespace(facts=replace(FACTS, files=(file,)), summary="From far away")
    registry = SimpleNamespace(ids=lambda: ["remote"], get=lambda id: entry)
    monkeypatch.setattr("exparity.tools.data.DATASETS", registry)
    path, check = tmp_path / file.path, DataSource(tmp_path, download=False)
    for source in (DataSource(tmp_path), DataSource(tmp_path), check):
        assert list(raw_files(source, [])) == [f"remote: {path} verified"]
    assert len(web.asked) == 1
    path.write_bytes(b"mine")
    for source in (check, DataSource(tmp_path)):
        lines = raw_files(source, ["remote"])
        assert next(lines) == f"remote: {path} ALTERED"
        with pytest.raises(InputError, match=f"1 files are missing or altered below {tmp_path}"):
            next(lines)
    path.unlink()
    assert next(raw_files(check, ["remote"])) == f"remote: {path} missing"
