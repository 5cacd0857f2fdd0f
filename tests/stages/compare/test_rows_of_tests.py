"""The tests within trainings: those of each cell."""

import numpy as np
import pytest
from compared import compare
from made_up import GROUPS, Results

from exparity.artefacts.files import read_artefact
from exparity.stats import compare_all

pytestmark = pytest.mark.contract

STATISTICS = {"resamples": 0, "threshold": 0.5, "ddof": 0, "alpha": 0.5}


@pytest.fixture
def scores(tmp_path):
    """Scores of two seeds, methods and metrics; of fewer texts by one method, some undefined."""
    paths, results = {}, Results(tmp_path)
    for seed in (0, 1):
        for method, n in (("lime", 16), ("shap", 10)):
            for metric in ("gini", "sparsity"):
                rng = np.random.default_rng([seed, n, len(metric)])
                rows = [
                    {
                        "example_id": f"{i:02d}-{group}", "group": group, "match_id": f"{i:02d}",
                        "score": float(rng.normal() + (group == GROUPS[0]) * 0.4),
                    }
                    for i in range(n)
                    for group in GROUPS
                ]  # fmt: skip
                if metric == "gini" and seed:
                    rows[3]["score"] = np.nan
                cell = seed, method, metric
                paths[cell] = results.write("scores", rows, "d", "m", *cell)
    return paths


def test_each_cell_has_what_it_has_alone(scores, tmp_path):
    compare([*scores.values()], None, tmp_path / "t", tmp_path / "a", statistics=STATISTICS)
    rows = read_artefact(tmp_path / "t", "tests")[0].to_pylist()
    found = {(row["seed"], row["method"], row["metric"]): row for row in rows}
    assert found.keys() == scores.keys()
    for cell, path in scores.items():
        given = read_artefact(path, "scores")[0].to_pydict()
        (expected,) = compare_all(
            given["score"], given["group"], GROUPS, given["match_id"], **STATISTICS
        )
        for name, value in vars(expected).items():
            is_float = isinstance(value, float)
            same = pytest.approx(value, rel=1e-12, nan_ok=True) if is_float else value
            assert found[cell][name] == same, (cell, name)
    of_gini = [found[1, method, "gini"]["cohens_d"] for method in ("lime", "shap")]
    assert all(d == d for d in of_gini)
