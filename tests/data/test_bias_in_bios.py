"""Bias in Bios: classes and splits, samples with the shares of all, and what is refused."""

from collections import Counter

import pyarrow as pa
import pytest
from pyarrow import parquet

from exparity.artefacts.lineage import sha256_of
from exparity.core.errors import InputError
from exparity.data import load_dataset, load_with_facts
from exparity.data.bias_in_bios import FILES, LABELS
from exparity.data.files import DataSource
from exparity.data.table import PreparedData
from exparity.data.training_set import TrainingSet
from exparity.tools.data import raw_files


def biography(profession=0, gender=0, text="She writes, and teaches."):
    return {"hard_text": text, "profession": profession, "gender": gender}


def everyone(each=2):
    """Every class and gender equally often."""
    return [biography(p, g) for p in range(28) for g in (0, 1) for _ in range(each)]


def source_of(folder, **parts):
    for part, file in FILES.items():
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(pa.Table.from_pylist(parts.get(part, everyone())), path)
    return DataSource(folder, download=False)


def load(source, **options):
    return load_dataset("bias_in_bios", source, {"verify": False, **options})


def test_a_row_becomes_an_example(tmp_path):
    source = source_of(tmp_path, test=[biography(13, 1), biography(21, 0, " He  reads .\n")])
    he, she = sorted(
        (e for e in load(source) if e.split == "test"), key=lambda e: e.group == "female"
    )
    words = ("She", "writes,", "and", "teaches.")
    assert (she.words, she.label, she.group) == (words, 13, "female")
    assert (he.words, he.label, he.group) == (("He", "reads", "."), 21, "male")
    assert (she.example_id, he.example_id) == ("test-000001", "test-000002")
    assert she.match_id is None
    assert she.rationale is None


def test_development_biographies_train(tmp_path):
    source = source_of(tmp_path)
    parts = Counter((e.split, e.example_id.partition("-")[0]) for e in load(source))
    assert parts == {("train", "train"): 112, ("train", "dev"): 112, ("test", "test"): 112}
    # As many of each class and gender, as of all.
    some = Counter((e.split, e.label, e.group) for e in load(source, n_train=112, n_test=56))
    assert sum(some.values()) == 112 + 56
    assert all(n == (2 if split == "train" else 1) for (split, *_), n in some.items())


def test_development_biographies_can_be_held_out(tmp_path):
    source = source_of(tmp_path)
    sizes = Counter((e.split, e.attributes.get("validates", "")) for e in load(source, dev=False))
    assert sizes == {("train", ""): 112, ("train", "dev"): 112, ("test", ""): 112}
    data = PreparedData(
        "bios", tuple(load(source, dev=False)), ("male", "female"), LABELS, "gender"
    )
    for share in (0.0, 0.1):
        training_set = TrainingSet.of(data, share, seed=0)
        assert {e.example_id.partition("-")[0] for e in training_set.examples} == {"train"}
        assert len(training_set.examples) == 112
        assert len(training_set.held_out) == (112 if share else 0)
    # The same share of both, with every class and gender.
    few = Counter(
        (e.split, e.attributes.get("validates", "")) for e in load(source, dev=False, n_train=56)
    )
    assert few == {("train", ""): 56, ("train", "dev"): 56, ("test", ""): 112}


def test_the_first_sentence_names_no_occupation(tmp_path):
    """As in Chen et al. 2024, B.2: "Alice is a _ working at a hospital"."""
    texts = {
        "Alice is a nurse working at a hospital.": "Alice is a _ working at a hospital.",
        "DJ Bob, yoga-teacher and software engineer": "_ Bob, _ and _",
        "Nurses teach (professors)  models": "_ teach (_) _",
        "He nursed a model-T, and adjusts": "He nursed a _-T, and adjusts",
    }
    rows = [{**biography(13), "text": text} for text in texts]
    whole = [{**row, "text": "She paints."} for row in everyone()]
    source = source_of(tmp_path, train=[*whole, *rows], dev=whole, test=whole)
    examples = {e.example_id: e for e in load(source, first_sentence=True)}
    for number, text in enumerate(texts.values(), start=len(whole) + 1):
        assert " ".join(examples[f"train-{number:06d}"].words) == text
    # The published files have no first sentence.
    assert load(source)[0].words == ("She", "writes,", "and", "teaches.")
    with pytest.raises(InputError, match=r"dev.parquet: has no column 'text'.*first_sentence'"):
        load(source_of(tmp_path, train=whole), first_sentence=True)


def test_professions_are_the_classes_in_their_order(tmp_path):
    source = source_of(tmp_path)
    examples, facts = load_with_facts(
        "bias_in_bios", source, {"verify": False, "professions": ["surgeon", "nurse"]}
    )
    assert facts.labels == ("surgeon", "nurse")
    every = {e.example_id: e for e in load(source)}
    assert len(examples) == 24
    for example in examples:
        assert facts.labels[example.label] == LABELS[every[example.example_id].label]


def test_empty_biographies_are_left_out_and_counted(tmp_path, caplog):
    caplog.set_level("WARNING")  # the digest of each file is no warning
    source = source_of(tmp_path, train=[*everyone(), biography(text=" "), biography(text="")])
    assert len(load(source)) == 3 * 112
    assert caplog.messages == ["bias_in_bios: left out 2 empty biographies of train"]


@pytest.mark.parametrize("row", [biography(28), biography(0, 2), biography(text=None)])
def test_bad_rows_are_named(row, tmp_path):
    with pytest.raises(InputError, match=r"train.parquet, row 113: not as in the published file"):
        load(source_of(tmp_path, train=[*everyone(), row]))


def test_a_missing_column_and_an_unknown_profession_are_named(tmp_path):
    source = source_of(tmp_path)
    with pytest.raises(InputError, match="no profession 'nurs'; did you mean 'nurse'"):
        load(source, professions=["nurs", "poet"])
    rows = [{"text": "a", "profession": 0, "gender": 0}]
    with pytest.raises(InputError, match=r"dev.parquet: no column 'hard_text'"):
        load(source_of(tmp_path, dev=rows))


def test_the_command_names_the_digests_to_compare(tmp_path):
    lines = list(raw_files(source_of(tmp_path), ["bias_in_bios"]))
    for line, file in zip(lines, FILES.values(), strict=True):
        assert " not verified: the published SHA-256 is not known, here " in line
        assert line.endswith(sha256_of(tmp_path / file.path))
