"""Tables of premises and hypotheses, and data artefacts with and without pairs of texts."""

import pyarrow.parquet as pq
import pytest
from data.tables import write
from support import refused_by

import exparity
from exparity import InputError
from exparity.counterfactuals import counterfactuals_of
from exparity.data import load_dataset
from exparity.data.files import DataSource
from exparity.data.table import read_prepared
from exparity.stages.prepare import prepare
from exparity.types import Text

REFUSED = refused_by(__file__)

ROWS = [
    {"text": "a cat sleeps", "b": "it is awake", "why": "0 0 1", "why_b": "0 0 1"},
    {"text": "a dog runs here", "b": "a dog", "why": "0 1 0 0", "why_b": "0 1"},
    {"text": "one text alone", "b": None, "why": "1 0 0", "why_b": None},
    {"text": "the bird", "b": "a bird sings", "why": None, "why_b": None},
]
ROWS = [
    {**row, "label": "yn"[i % 2], "group": "fm"[i // 2 % 2], "split": split}
    for split in ("train", "test")
    for i, row in enumerate(ROWS)
]
COLUMNS = {"text_b": "b", "rationale": "why", "rationale_b": "why_b", "split": "split"}


def written(path, rows=ROWS):
    return {"path": str(write(path, rows)), **COLUMNS}


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_both_texts_and_their_marks_are_read(tmp_path, suffix):
    options = written(tmp_path / f"pairs{suffix}")
    examples = load_dataset("table", DataSource(tmp_path), options)
    train = [e for e in examples if e.split == "train"]
    assert [e.words_b for e in train] == [
        ("it", "is", "awake"), ("a", "dog"), None, ("a", "bird", "sings")
    ]  # fmt: skip
    assert [e.rationale for e in train] == [
        (0, 0, 1, 0, 0, 1), (0, 1, 0, 0, 0, 1), (1, 0, 0), None
    ]  # fmt: skip
    assert train[0].pair == ("a cat sleeps", "it is awake")
    assert train[2].pair is None
    assert train[1].parts == (Text.of("a dog runs here"), Text.of("a dog"))


def test_the_artefact_has_second_texts_only_where_there_are_some(tmp_path):
    options = written(tmp_path / "pairs.jsonl")
    paired, single = tmp_path / "data" / "pairs.parquet", tmp_path / "data" / "single.parquet"
    prepare(paired, use="table", params=options, dataset_id="pairs")
    prepare(single, use="table", params={"path": options["path"]}, dataset_id="single")
    examples = load_dataset("table", DataSource(tmp_path), options)
    assert list(read_prepared(paired).examples) == examples
    assert pq.read_schema(paired).names[-1] == "words_b"
    assert "words_b" not in pq.read_schema(single).names
    assert all(example.words_b is None for example in read_prepared(single).examples)
    both = exparity.read_results(tmp_path, "data").set_index("dataset")["words_b"]
    assert both["pairs"].notna().sum() == 6
    assert both["single"].isna().all()
    paired.unlink()
    assert "words_b" not in exparity.read_results(tmp_path, "data").columns


@pytest.mark.parametrize(("changes", "row", "message"), REFUSED["bad_columns_and_second_texts"])
def test_bad_columns_and_second_texts(tmp_path, changes, row, message):
    options = written(tmp_path / "pairs.jsonl", [{**ROWS[0], **row}, *ROWS[1:]]) | changes
    with pytest.raises(InputError, match=message):
        load_dataset("table", DataSource(tmp_path), options)


def test_counterfactuals_of_pairs_are_refused(tmp_path):
    options = written(tmp_path / "pairs.jsonl")
    prepare(tmp_path / "data.parquet", use="table", params=options, dataset_id="nli")
    data = read_prepared(tmp_path / "data.parquet")
    with pytest.raises(InputError, match=r"counterfactuals.nli: example '\d' is a pair of texts"):
        counterfactuals_of(data, "matched", {})
