"""Means of the scores: on the page, in the downloads and on the terminal."""

import math

import numpy as np
import pyarrow as pa
import pytest
from made_up import config, grid_of, make_study

from exparity import read_results
from exparity.report.gather import gather
from exparity.report.means import NEEDED, mean_lines
from exparity.report.scores import read_study_scores

SETTINGS = config(datasets=2, models=1, seeds=2, methods=2, metrics=3)
KEY = ["dataset", "model", "method", "metric"]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return make_study(tmp_path_factory.mktemp("study"), SETTINGS, pairs=8)


@pytest.fixture(scope="module")
def lines(results):
    means = read_study_scores(gather(results, grid_of(SETTINGS))).means
    return [line for line in means if line.method]


def test_they_are_those_of_the_files(results, lines):
    scores = read_results(results, "scores")
    means = scores.groupby(KEY, observed=True)["score"].mean()
    assert len(lines) == len(means) == 12
    for line in lines:
        assert line.mean == pytest.approx(means[tuple(getattr(line, id) for id in KEY)])
        assert (line.n_seeds, line.n_examples, line.n_undefined) == (2, 16, 0)
        assert line.ci_low < line.mean < line.ci_high


def scores_of(ids, values, **facts):
    table = pa.table({"example_id": ids, "group": [""] * len(ids),
                      "match_id": pa.nulls(len(ids), pa.string()), "score": values})  # fmt: skip
    metadata = {f"exparity.{name}": str(value) for name, value in facts.items()}
    return table.select(NEEDED).replace_schema_metadata(metadata)


def test_examples_meet_by_id_whatever_each_file_holds():
    """As where a method explains a sample, or the examples that one training classifies right."""
    files = [
        scores_of(["a", "b", "c"], [0.0, 1.0, math.nan], bounds=[0, 1]),
        scores_of(["b", "d"], [0.5, 0.5]),
    ]
    (line,) = mean_lines("data", "model", {("m", "k"): files}, 0.95)
    assert line.mean == pytest.approx(0.5)
    assert (line.n_seeds, line.n_examples, line.n_undefined) == (2, 3, 1)


def test_intervals_end_at_the_bounds_of_the_metric():
    files = {
        ("m", metric): [scores_of(["a", "b"], values, **facts) for values in ([0, 1.0], [1.0, 0.9])]
        for metric, facts in (("bounded", {"bounds": [0, 1]}), ("free", {}))
    }
    bounded, free = mean_lines("data", "model", files, 0.95)
    assert (bounded.ci_low, bounded.ci_high) == (0, 1)
    assert free.ci_low < 0 < 1 < free.ci_high
    assert np.isclose(bounded.mean, free.mean)
