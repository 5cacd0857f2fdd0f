"""Gaps over all trainings: what is read and written, and what is refused."""

import math
from dataclasses import asdict

import numpy as np
import pytest
from compared import compare, near
from made_up import GROUPS, Results, keys_of

from exparity import InputError
from exparity.artefacts.files import read_artefact
from exparity.core.seeding import derive_seed
from exparity.stats.crossed import crossed_tests
from exparity.stats.verdicts import judge, standing

pytestmark = pytest.mark.contract

CELL = {"dataset": "d", "model": "m", "seed": 0, "method": "lime", "metric": "gini"}
OPTIONS = {"alpha": 0.05, "threshold": 0.2, "confidence": 0.95}


def scores_file(folder, *, n=12, matched=True, leave_out=(), flags=(), order=1, undefined=(),
                value=None, use=None, **ids):  # fmt: skip
    """One value of each group in n sets; the gap varies from seed to seed."""
    place = {**CELL, **ids}.values()
    rng = np.random.default_rng(derive_seed(1, *map(str, place)))
    of_seed = rng.normal()
    rows = []
    for key in keys_of(n, matched=matched):
        score = rng.normal() + (of_seed if key["group"] == GROUPS[0] else 0)
        score = score if value is None else float(value)
        if key["example_id"] not in leave_out:
            rows.append({**key, "score": math.nan if key["example_id"] in undefined else score})
    used = {"parameters": {"use": use} if use else {}}
    return Results(folder).write("scores", rows[::order], *place, flags=list(flags), **used)


def grid(folder, seeds=(0, 1, 2, 5), methods=("lime", "shap"), metrics=("gini",), **options):
    return [
        scores_file(folder, seed=seed, method=method, metric=metric, **options)
        for seed in seeds
        for method in methods
        for metric in metrics
    ]


def made(paths, tmp_path, random=(), predictions=(), **options):
    output = tmp_path / "out.parquet"
    compare(paths, random, tmp_path / "tests.parquet", output, predictions, OPTIONS | options)
    table, facts = read_artefact(output, "across_trainings")
    return table.to_pylist(), facts


def expected(paths, **options):
    """The tests of one cell, from its files, by the function."""
    tables = [read_artefact(path, "scores")[0].to_pylist() for path in paths]
    examples = {row["example_id"]: row for rows in tables for row in rows}
    values = [
        [{row["example_id"]: row["score"] for row in rows}.get(e, math.nan) for e in examples]
        for rows in tables
    ]
    groups, sets = ([row[k] for row in examples.values()] for k in ("group", "match_id"))
    return crossed_tests(values, groups, GROUPS, sets, **(OPTIONS | options))


def assert_same(row, test):
    for name, value in asdict(test).items():
        assert row[name] == near(value), name


def groups_and_sets(path):
    rows = read_artefact(path, "scores")[0].to_pylist()
    return ([row[name] for row in rows] for name in ("group", "match_id"))


class TestArtefact:
    @pytest.mark.parametrize("matched", [True, False])
    def test_one_row_per_method_and_metric(self, matched, tmp_path):
        paths = grid(tmp_path, metrics=("gini", "sparsity"), matched=matched)
        rows, facts = made(paths, tmp_path, threshold=0.5)
        cells = [(m, k) for m in ("lime", "shap") for k in ("gini", "sparsity")]
        assert [(r["method"], r["metric"]) for r in rows] == cells
        assert {(r["dataset"], r["model"]) for r in rows} == {("d", "m")}
        assert facts["wildcards"] == {"dataset": "d", "model": "m"}
        assert facts["parameters"]["statistics"].items() >= (OPTIONS | {"threshold": 0.5}).items()
        assert (facts["groups"], facts["attribute"]) == (["male", "female"], "gender")
        for row, (method, metric) in zip(rows, cells, strict=True):
            own = [p for p in paths if p.match(f"{method}/{metric}.parquet")]
            assert_same(row, expected(own, threshold=0.5)[0])
            assert (row["n_seeds"], row["n_sets"]) == (4, 12 if matched else 0)
            assert set(row["flags"]) <= {"driven_by_one_training"}

    def test_examples_that_some_seeds_lack(self, tmp_path):
        # as where only what is classified correctly is explained, in another order
        paths = [
            scores_file(tmp_path, seed=0),
            scores_file(tmp_path, seed=1, leave_out=("001-male", "004-female"), order=-1),
            scores_file(tmp_path, seed=2, leave_out=("000-female",), undefined=("003-male",)),
            scores_file(tmp_path, seed=3, leave_out=("011-male", "011-female")),
        ]
        (row,), _ = made(paths, tmp_path)
        assert_same(row, expected(paths)[0])
        assert row["flags"] == ["missing_cells"]
        assert (row["n_seeds"], row["n_sets"]) == (4, 12)

    def test_flags_of_any_seed(self, tmp_path):
        paths = [
            scores_file(tmp_path, seed=seed, flags=["rounding_noise"] if seed else [])
            for seed in (0, 1, 2)
        ]
        assert made(paths, tmp_path)[0][0]["flags"] == ["rounding_noise"]

    def test_neither_order_nor_company_of_the_files_moves_a_number(self, tmp_path):
        paths = grid(tmp_path)
        one, two = made(paths, tmp_path)[0], made(paths[::-1], tmp_path)[0]
        alone = made([p for p in paths if p.parent.name == "lime"], tmp_path)[0]
        for first, second in zip([*one, one[0]], [*two, *alone], strict=True):
            assert first.keys() == second.keys()
            for name, value in first.items():
                assert second[name] == near(value), name


def random_file(folder, scores, *, draws=3):
    """Random scores of the examples of a scores file, and the excess over their means."""
    table, facts = read_artefact(scores, "scores")
    place = [facts["wildcards"][name] for name in CELL if name != "method"]
    drawn = np.random.default_rng(derive_seed(2, *map(str, place))).normal(size=(draws, len(table)))
    keys = table.select(["example_id", "group", "match_id"]).to_pylist()
    path = Results(folder).write_scores(keys, drawn, *place, parameters={})
    return path, np.array(table["score"]) - drawn.mean(axis=0)


class TestExcess:
    def test_is_tested_as_the_scores_are(self, tmp_path):
        paths = grid(tmp_path, methods=("lime",))
        random, over = zip(*(random_file(tmp_path, path) for path in paths), strict=True)
        (excess, row, *_), _ = made(paths, tmp_path, random)
        assert_same(row, expected(paths)[0])
        assert (excess["quantity"], row["quantity"]) == ("excess", "score")
        groups, sets = groups_and_sets(paths[0])
        (test,) = crossed_tests(list(over), groups, GROUPS, sets, **OPTIONS)
        assert_same(excess, test)
        assert excess["p_mean"] != row["p_mean"]

    def test_the_first_random_explanation_is_tested_in_excess_over_the_others(self, tmp_path):
        paths = grid(tmp_path, methods=("lime", "shap"))
        random = [random_file(tmp_path, path)[0] for path in paths if path.parent.name == "lime"]
        rows, _ = made(paths, tmp_path, random)
        excess, score = (row for row in rows if row["method"] == "uniform_random")
        assert (excess["quantity"], score["quantity"]) == ("random_excess", "random_score")
        drawn = [
            np.array(read_artefact(path, "random_scores")[0]["score"]).reshape(-1, 3).T
            for path in random
        ]
        groups, sets = groups_and_sets(paths[0])
        for row, values in (
            (score, [d[0] for d in drawn]),
            (excess, [d[0] - d[1:].mean(axis=0) for d in drawn]),
        ):
            assert_same(row, crossed_tests(values, groups, GROUPS, sets, **OPTIONS)[0])


def test_where_no_training_says_anything_neither_do_all_together(tmp_path):
    """All scores of each training are the same, whatever the next one's are."""
    paths = [scores_file(tmp_path, seed=seed, value=seed) for seed in (0, 1, 2)]
    random = [random_file(tmp_path, path)[0] for path in paths]
    rows, _ = made(paths, tmp_path, random)
    own = [row for row in rows if row["method"] == "lime"]
    assert [(row["quantity"], row["n_seeds"]) for row in own] == [("excess", 3), ("score", 3)]
    assert all("constant" in row["flags"] for row in own)
    # One training whose scores differ is enough.
    rows, _ = made([*paths, scores_file(tmp_path, seed=3)], tmp_path)
    assert "constant" not in rows[0]["flags"]


@pytest.mark.parametrize("seeds", [(0,), (0, 1, 2)])
def test_explanations_that_foresee_every_text_fully_are_equivalent(tmp_path, seeds):
    paths = [scores_file(tmp_path, seed=s, value=1.0, use="forward_simulation") for s in seeds]
    ((row,), _) = made(paths, tmp_path)
    assert (row["metric_kind"], row["mean_a"], row["mean_b"]) == ("simulatability", 1.0, 1.0)
    (judged,) = judge(standing([{**row, "dataset": "d", "model": "m"}]))
    assert judged["verdict"] == judged["verdict_strict"] == "equivalent"


def predictions_file(folder, seed, *, collapsed=False):
    labels = [0, 1] * 6
    predicted = [1] * 12 if collapsed else labels
    return Results(folder).write_predictions(keys_of(6), labels, predicted, "d", "m", seed)


def test_trainings_that_predict_one_class_are_left_out(tmp_path):
    paths = grid(tmp_path, methods=("lime",))
    predictions = [predictions_file(tmp_path, seed, collapsed=seed == 2) for seed in (0, 1, 2, 5)]
    (row,), _ = made(paths, tmp_path, (), predictions)
    working = [path for path in paths if "/2/" not in path.as_posix()]
    assert row["n_seeds"] == 3
    (test,) = expected(working)
    for name in ("estimate", "p_mean", "d", "equivalence_p", "minimal_detectable_effect"):
        assert row[name] == near(getattr(test, name)), name
    predictions = [predictions_file(tmp_path, seed, collapsed=True) for seed in (0, 1, 2, 5)]
    (row,), _ = made(paths, tmp_path, (), predictions)
    assert (row["n_seeds"], row["flags"]) == (0, ["too_few", "missing_cells", "collapsed"])


def test_files_of_two_models_are_refused(tmp_path):
    paths = [scores_file(tmp_path, **ids) for ids in ({}, {"model": "n", "seed": 1})]
    with pytest.raises(InputError, match=r"d/n/1/.*: is of model 'n', but .* is of 'm'"):
        compare(paths, None, tmp_path / "t", tmp_path / "a", statistics=OPTIONS)
    assert not (tmp_path / "t").exists()


def test_a_training_without_predictions_is_refused(tmp_path):
    paths = [scores_file(tmp_path, seed=seed) for seed in (0, 1)]
    with pytest.raises(InputError, match="--predictions: has no file of seed '1'"):
        made(paths, tmp_path, None, [predictions_file(tmp_path, 0)])
