"""Random explanations, their scores, the tests of them, and what other scores exceed them by."""

import math
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import mannwhitneyu, wilcoxon
from stages.cells import compare, control, evaluate, examples_of, explain, rows_of

from exparity import load_classifier
from exparity.artefacts.files import write_artefact
from exparity.core.errors import InputError
from exparity.core.seeding import derive_seed
from exparity.engine.classifier import Classifier
from exparity.methods import explain_encodings
from exparity.metrics import evaluate_keyed
from exparity.quantities.random_scores import RandomScores
from exparity.stages.compare import compare_model
from exparity.types import Origin

DRAWS = 3
METRICS = {
    "comprehensiveness": {"thresholds": [0.2, 0.5]},
    "soft_sufficiency": {"num_samples": 3},
    "gini": {},
    "mass_accuracy": {},
}


def random_scores(cell, output, metric, **options):
    """Score random explanations and return the rows of the artefact."""
    given = {"params": METRICS.get(metric, {}), "draws": DRAWS, **options}
    return rows_of(control(cell, output, metric, **given), "random_scores")


@pytest.fixture(scope="module")
def random(tmp_path_factory):
    """Folder of the random scores of every metric."""
    return tmp_path_factory.mktemp("random")


@pytest.fixture(scope="module")
def made(cell, random):
    """The random scores of every metric."""
    return {id: random_scores(cell, random / f"{id}.parquet", id) for id in METRICS}


@pytest.mark.parametrize("metric", ["gini", "communication"])
def test_neither_draws_nor_metrics_of_words_ask_the_model(cell, tmp_path, monkeypatch, metric):
    def refuse(*_):
        raise AssertionError("the model is asked")

    for name in ("embed", "outputs_of"):
        monkeypatch.setattr(Classifier, name, refuse)
    assert random_scores(cell, tmp_path / "r.parquet", metric)


@pytest.mark.bits
@pytest.mark.reference
@pytest.mark.parametrize("metric", METRICS)
def test_equals_explaining_and_scoring_one_text_after_the_other(cell, made, metric, pytestconfig):
    """Every third text; with --exhaustive each."""
    per = "word" if metric == "mass_accuracy" else "token"
    classifier = load_classifier(cell / "mine" / "3", "cpu")
    examples = examples_of(cell)
    step = 1 if pytestconfig.getoption("--exhaustive") else 3
    expected = {}
    for example in list(examples.values())[::step]:
        for draw in range(DRAWS):
            encodings, key = classifier.encode([example.words]), [example.example_id]
            seed = derive_seed(3, "negative_control", draw)
            target = np.array([example.label])
            origin = Origin("uniform_random", {"unit": per}, seed, example.example_id)
            (one,) = explain_encodings(classifier, encodings, target, [origin])
            object.__setattr__(one, "rationale", example.rationale)
            (score,) = evaluate_keyed(classifier, [one], key, metric, 3, METRICS[metric])
            expected[example.example_id, draw] = score
    scores = {(row["example_id"], row["draw"]): row["score"] for row in made[metric]}
    assert scores.keys() == set(product(examples, range(DRAWS)))
    for key, score in expected.items():
        np.testing.assert_equal(scores[key], score)
    by_draw = [[expected[key] for key in expected if key[1] == draw] for draw in range(DRAWS)]
    assert not np.array_equal(by_draw[0], by_draw[1])


@pytest.fixture(scope="module")
def scored(cell, random):
    """Scores of gradients by comprehensiveness, and those of random explanations."""
    explanations = explain(cell, random / "explanations.parquet", max_examples=12)
    scores, params = random / "scores.parquet", METRICS["comprehensiveness"]
    return evaluate(cell, explanations, scores, "comprehensiveness", params=params)


def naive_test(values):
    """A test of two groups with matched sets, of values by set and group, as loops in float64."""
    sets = sorted({match for match, _ in values})
    a, b = ([values[match, group] for match in sets] for group in ("male", "female"))
    difference = sum(a) / len(a) - sum(b) / len(b)
    spread = math.sqrt((np.var(a, ddof=1) + np.var(b, ddof=1)) / 2)
    u = sum((x > y) + 0.5 * (x == y) for x in a for y in b)
    paired = [x - y for x, y in zip(a, b, strict=True)]
    return {
        "mean_difference": difference,
        "p": mannwhitneyu(a, b).pvalue,
        "wilcoxon_p": wilcoxon(paired).pvalue,
        "cohens_d": difference / spread,
        "rank_biserial": 2 * u / (len(a) * len(b)) - 1,
        "d_z": np.mean(paired) / np.std(paired, ddof=1),
        "direction": np.sign(difference),
        "n_a": len(sets),
        "n_b": len(sets),
    }


def assert_equal(row, expected):
    assert {name: row[name] for name in expected} == pytest.approx(expected, rel=1e-9)


@pytest.mark.reference
def test_excess_equals_a_naive_loop(cell, random, made, scored, tmp_path):
    chance = random / "comprehensiveness.parquet"
    compare(cell, scored, tmp_path / "t.parquet", chance, resamples=300)
    rows = {row["quantity"]: row for row in rows_of(tmp_path / "t.parquet", "tests")}
    values = {}
    for score in rows_of(scored, "scores"):
        drawn = [
            r["score"] for r in made["comprehensiveness"] if r["example_id"] == score["example_id"]
        ]
        assert len(drawn) == DRAWS
        values[score["match_id"], score["group"]] = score["score"] - math.fsum(drawn) / DRAWS
    assert len(values) == 12
    assert_equal(rows["excess"], naive_test(values))
    # Six sets are too few for an interval.
    assert rows["excess"]["flags"] == ["interval_none", "collapsed"]


def test_there_is_no_excess_over_random_scores_by_other_options(cell, scored, tmp_path):
    random_scores(cell, tmp_path / "r.parquet", "comprehensiveness", params={})
    compare(cell, scored, tmp_path / "t.parquet", tmp_path / "r.parquet")
    rows = rows_of(tmp_path / "t.parquet", "tests")
    assert {row["quantity"] for row in rows if row["method"] == "gradient"} == {"score"}


def test_undefined_and_unknown_examples(tmp_path):
    facts = {"groups": ["a", "b"], "attribute": "g"}
    ids = {"dataset": "d", "model": "m", "seed": 0, "metric": "gini"}
    rows = [
        {"example_id": key, "group": "a", "match_id": None, "draw": draw, "score": score}
        for key, drawn in {"a": (0.5, 0.25), "b": (0.0, 0.0), "c": (1.0, np.nan)}.items()
        for draw, score in enumerate(drawn)
    ]
    path = tmp_path / "r.parquet"
    write_artefact(path, "random_scores", rows, ids, parameters={}, extra=facts)
    random = RandomScores.read(path)
    scores = pa.table({"example_id": ["c", "a", "b"], "score": [3.0, 1.0, np.nan]})
    np.testing.assert_array_equal(random.excess(scores), [np.nan, 0.625, np.nan])
    with pytest.raises(InputError, match="has no random explanation of example 'd'"):
        random.excess(pa.table({"example_id": ["a", "d"], "score": [1.0, 2.0]}))


@pytest.mark.reference
def test_each_draw_of_random_explanations_is_tested(cell, random, made, scored, tmp_path):
    paths = [random / f"{metric}.parquet" for metric in METRICS]
    compare_model(
        cell / "data.parquet", [cell / "predictions.parquet"], [scored], paths,
        tmp_path / "t.parquet", tmp_path / "a.parquet", tmp_path / "l.parquet",
        statistics={"resamples": 0},
    )  # fmt: skip
    rows = [r for r in rows_of(tmp_path / "t.parquet", "tests") if r["quantity"] == "random_score"]
    assert [(row["method"], row["metric"], row["draw"]) for row in rows] == [
        ("uniform_random", metric, draw) for metric in sorted(METRICS) for draw in range(DRAWS)
    ]
    for row in rows:
        drawn = [r for r in made[row["metric"]] if r["draw"] == row["draw"]]
        assert_equal(row, naive_test({(r["match_id"], r["group"]): r["score"] for r in drawn}))
