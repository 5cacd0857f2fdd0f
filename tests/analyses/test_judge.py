"""The analysis that judges: which cells are corrected together, and what says nothing."""

import numpy as np
import pytest
from made_up import NAN, Results, filled

from exparity.artefacts.files import read_artefact
from exparity.stages.judge import judge_cells
from exparity.stats.among import AmongRight
from exparity.stats.multiplicity import benjamini_hochberg, holm
from exparity.stats.skill import ScaleTests

pytestmark = pytest.mark.contract

P = {"a": [0.001, 0.02, 0.5], "b": [0.011, 0.9]}
"""p-values of the metrics of two models; those of the excess are twice as large."""


def across(folder, dataset="d"):
    """across_trainings artefacts of both models, with a row per quantity and p-value."""
    paths = []
    for model, p_values in P.items():
        rows = [
            {
                **filled("across_trainings", n_seeds=3, flags=[], pooled_sd=1.0, d=1.0),
                **vars(ScaleTests()),
                **vars(AmongRight()),
                **{"method": "lime", "metric": f"metric_{i}", "quantity": quantity},
                **{"p_mean": p * factor, "p_small": 0.9, "p_large": 0.9, "p_cross": 0.9},
                **{"n_groups": 2, "omnibus_p": np.nan},
            }
            for i, p in enumerate(p_values)
            for quantity, factor in (("score", 1), ("excess", 2 if p <= 0.5 else 1))
        ]
        paths.append(Results(folder).write("across_trainings", rows, dataset, model))
    return paths


def compared(folder, **p_values):
    """A tests artefact with a row per quantity and p-value."""
    rows = [
        {
            **filled("tests", seed=0, method="lime", metric=f"metric_{i}", p=p, flags=[]),
            **{"wilcoxon_p": NAN, "quantity": quantity},
        }
        for quantity, of in p_values.items()
        for i, p in enumerate(of)
    ]
    return [Results(folder).write("tests", rows, "d", "a")]


def test_a_dataset_is_a_family_and_each_quantity_one_of_its_own(tmp_path):
    output, paths = tmp_path / "verdicts.parquet", [*across(tmp_path), *across(tmp_path, "other")]
    judge_cells(paths, (), None, output, tmp_path / "disparity.parquet")
    table, facts = read_artefact(output, "verdicts")
    rows = table.to_pylist()
    assert len(rows) == 2 * 2 * 5
    assert facts["wildcards"] == {}
    assert facts["parameters"] == {"family": ["dataset"], "alpha": 0.05}
    for dataset in ("d", "other"):
        for quantity in ("score", "excess"):
            own = [r for r in rows if (r["dataset"], r["quantity"]) == (dataset, quantity)]
            p = [row["p_mean"] for row in own]
            assert [row["p_mean_holm"] for row in own] == pytest.approx(holm(p))
            assert [row["p_mean_bh"] for row in own] == pytest.approx(benjamini_hochberg(p))


def test_the_tests_of_trainings_are_corrected_each_quantity_by_itself(tmp_path):
    p = {"score": [0.01, 0.03, 0.2], "excess": [0.04, 0.5, 0.9], "random_score": [0.01, 0.9]}
    outputs = tmp_path / "v.parquet", tmp_path / "d.parquet"
    judge_cells(across(tmp_path), compared(tmp_path, **p), None, *outputs)
    rows = read_artefact(outputs[1], "disparity")[0].to_pylist()
    for quantity, expected in p.items():
        own = [row for row in rows if row["quantity"] == quantity]
        assert [row["p"] for row in own] == expected
        assert [row["p_holm"] for row in own] == pytest.approx(holm(expected))
        assert [row["p_bh"] for row in own] == pytest.approx(benjamini_hochberg(expected))
    assert [row["significant_holm"] for row in rows if row["quantity"] == "score"] == [
        True, False, False,
    ]  # fmt: skip
