"""The tests within trainings, and gaps at equal class and length: those of each cell alone."""

import numpy as np
import pytest
from compared import beside, near
from made_up import GROUPS, Results, keys_of

from exparity.artefacts.files import read_artefact
from exparity.quantities.scores import read_scores
from exparity.stages.compare import compare_model
from exparity.stats.adjusted import adjusted_gaps
from exparity.stats.compare import compare_all
from exparity.stats.samples import GroupedTexts

pytestmark = pytest.mark.contract

STATISTICS = {"resamples": 0, "threshold": 0.5, "ddof": 0, "alpha": 0.5, "confidence": 0.8}


@pytest.fixture
def scores(tmp_path):
    """Scores of two seeds, methods and metrics; of fewer texts by one method, some undefined."""
    paths, results = {}, Results(tmp_path)
    for seed in (0, 1):
        for method, n in (("lime", 16), ("shap", 10)):
            for metric in ("gini", "sparsity"):
                rng = np.random.default_rng([seed, n, len(metric)])
                values = rng.normal(size=2 * n)
                values[::2] += 0.4
                if metric == "gini" and seed:
                    values[3] = np.nan
                cell = seed, method, metric
                paths[cell] = results.write_scores(keys_of(n), values, "d", "m", *cell)
    return paths


@pytest.fixture
def texts(tmp_path):
    """The data by example, with one that is not scored: two classes, and 3 to 9 words."""
    rng = np.random.default_rng(0)
    rows = [
        {
            **key, "split": "test", "text": "", "words": ["word"] * int(rng.integers(3, 10)),
            "label": int(rng.integers(2)), "rationale": None, "attributes": [],
        }
        for key in keys_of(16)
    ]  # fmt: skip
    rows.append({**rows[0], "example_id": "train", "match_id": None, "split": "train"})
    return Results(tmp_path / "texts").write("data", rows, "d"), {r["example_id"]: r for r in rows}


def test_each_cell_has_what_it_has_alone(scores, texts, tmp_path):
    data, known = texts
    paths = [*scores.values()]
    outputs = tmp_path / "t", tmp_path / "a", tmp_path / "l"
    compare_model(data, beside(tmp_path, paths)[1], paths, None, *outputs, statistics=STATISTICS)
    rows = read_artefact(outputs[0], "tests")[0].to_pylist()
    found = {(row["seed"], row["method"], row["metric"]): row for row in rows}
    assert found.keys() == scores.keys()
    for cell, path in scores.items():
        given = read_artefact(path, "scores")[0].to_pydict()
        columns = given["score"], given["group"], GROUPS, given["match_id"]
        (pair,) = compare_all(*columns, **STATISTICS)
        expected = dict(vars(pair))
        own = [known[id] for id in given["example_id"]]
        covariates = {
            "class": np.array([text["label"] for text in own]),
            "length": np.array([len(text["words"]) for text in own]),
        }
        texts_of_cell = GroupedTexts.of(*columns[1:])
        scores_of_cell = np.array(columns[0], dtype=float)
        gaps = adjusted_gaps(scores_of_cell, texts_of_cell, covariates=covariates, confidence=0.8)
        assert [gap.adjustment for gap in gaps] == ["class", "length"]
        for gap in gaps:
            of_gap = {"difference": gap.estimate, "p": gap.p, "flags": list(gap.flags)}
            of_gap |= {"ci_low": gap.low, "ci_high": gap.high}
            expected |= {f"{gap.adjustment}_adjusted_{name}": of_gap[name] for name in of_gap}
        for name, value in expected.items():
            assert found[cell][name] == near(value, rel=1e-12), (cell, name)
    of_gini = [found[1, method, "gini"]["cohens_d"] for method in ("lime", "shap")]
    assert all(d == d for d in of_gini)


def test_groups_are_parsed_once_for_the_same_texts(scores, monkeypatch):
    model = read_scores([*scores.values()], None, None)
    parsed = []
    grouped = GroupedTexts.of
    monkeypatch.setattr(GroupedTexts, "of", lambda *a: parsed.append(a) or grouped(*a))
    texts = [model.texts_at(cell.places) for cell in model.cells]
    assert {len(grouped) for grouped in texts} == {32, 20}
    assert len(parsed) == 2
