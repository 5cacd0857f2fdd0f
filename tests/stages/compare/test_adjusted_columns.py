"""Gaps at equal class and length beside the tests: what they are computed from, what is refused."""

import numpy as np
import pytest
from made_up import Results

from exparity.artefacts.files import read_artefact
from exparity.stages.compare import compare_model
from exparity.stats.adjusted import adjusted_gaps

pytestmark = pytest.mark.contract

CELL = {"dataset": "d", "model": "m", "seed": 3}
FACTS = {"groups": ["male", "female"], "attribute": "gender"}
PAIRS = 12


def examples():
    """Pairs of one male and one female text: both classes, and lengths of 3 to 9 words."""
    rng = np.random.default_rng(0)
    return [
        {
            "example_id": f"{i:02d}-{group}",
            "group": group,
            "match_id": f"{i:02d}",
            "label": int(rng.integers(2)),
            "words": ["word"] * int(rng.integers(3, 10)),
        }
        for i in range(PAIRS)
        for group in FACTS["groups"]
    ]


def scores_file(folder, rows, flags=(), **ids):
    ids = {**CELL, "method": "lime", "metric": "gini", **ids}
    return Results(folder).write("scores", rows, *ids.values(), flags=list(flags))


def scored(rows, seed=0):
    rng = np.random.default_rng(seed)
    keys = ("example_id", "group", "match_id")
    return [{**{key: row[key] for key in keys}, "score": float(rng.normal())} for row in rows]


@pytest.fixture
def files(tmp_path):
    """Data (with texts of both splits), predictions, two scores artefacts, and the outputs."""
    rows = examples()
    texts = [
        {
            "example_id": row["example_id"], "match_id": row["match_id"], "split": "test",
            "text": " ".join(row["words"]), "words": row["words"], "label": row["label"],
            "group": row["group"], "rationale": None, "attributes": [],
        }
        for row in rows
    ]  # fmt: skip
    texts.append({**texts[0], "example_id": "train", "match_id": None, "split": "train"})
    results = Results(tmp_path)
    data = results.write("data", texts, "d")
    predicted = [
        {
            **{name: row[name] for name in ("example_id", "group", "match_id", "label")},
            "probabilities": [0.5, 0.5], "predicted": i % 2,
        }
        for i, row in enumerate(rows)
    ]  # fmt: skip
    predictions = results.write("predictions", predicted, *CELL.values())
    sampled = scored(rows[4:], seed=1)  # of whole sets, as max_examples takes them
    paths = [
        scores_file(tmp_path, scored(rows)),
        scores_file(tmp_path, sampled, method="shap", flags=["rounding_noise"]),
    ]
    return [data, [predictions], paths, None, tmp_path / "tests", tmp_path / "across"]


def rows_of(files, **statistics):
    compare_model(*files, statistics=statistics)
    return read_artefact(files[4], "tests")[0].to_pylist()


def test_they_are_those_of_the_function(files):
    row, sampled = rows_of(files, confidence=0.8)
    source = examples()
    gaps = adjusted_gaps(
        [row["score"] for row in scored(source)],
        [row["group"] for row in source],
        FACTS["groups"],
        [row["match_id"] for row in source],
        covariates={
            "class": [row["label"] for row in source],
            "length": [len(row["words"]) for row in source],
        },
        confidence=0.8,
    )
    assert [gap.adjustment for gap in gaps] == ["class", "length"]
    for gap in gaps:
        found = {name: row[f"{gap.adjustment}_adjusted_{name}"] for name in
                 ("difference", "p", "ci_low", "ci_high")}  # fmt: skip
        expected = (gap.estimate, gap.p, gap.low, gap.high)
        assert tuple(found.values()) == pytest.approx(expected, rel=1e-12)
        assert row[f"{gap.adjustment}_adjusted_flags"] == list(gap.flags)
    assert sampled["class_adjusted_difference"] != row["class_adjusted_difference"]
    assert (sampled["n_pairs"], sampled["flags"][-1]) == (PAIRS - 2, "rounding_noise")
