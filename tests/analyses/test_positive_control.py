"""The analysis positive_control: what is planted in good explanations, and what the page says."""

import html
from types import SimpleNamespace

import numpy as np
import pytest
from analyses.page import page_of
from made_up import Results, verdict_row
from scipy.special import expit

from exparity.analyses.positive_control import _removal, control_power, control_scores
from exparity.analyses.positive_control._removal import FAILURES
from exparity.analyses.positive_control.section import findings
from exparity.artefacts.files import read_artefact
from exparity.metrics.foresight import Design, Foresight, correlation, draw_parts

GROUPS = ("female", "male")
UNITS = 12
DESIGN = Design("word")


def asked(rng, i, noise=0.2):
    """What a classifier does with a text: additive falls, but for some noise."""
    left_out = draw_parts(np.array([i]), UNITS, DESIGN)
    falls = left_out @ rng.normal(size=UNITS)
    return Foresight(left_out, falls + noise * rng.normal(size=len(falls)), 0.9)


def study(root, texts=80, seeds=range(4), collapsed=(), noise=0.2, metrics=("r",)):
    """Rows of the artefact of a study, half of whose texts are of each group."""
    results, rng = Results(root, GROUPS), np.random.default_rng(0)
    keys = [{"example_id": f"{i}", "group": GROUPS[i % 2], "match_id": None} for i in range(texts)]
    labels = [i // 2 % 2 for i in range(texts)]
    paths = []
    for seed in seeds:
        predicted = [0] * texts if seed in collapsed else labels
        results.write_predictions(keys, labels, predicted, "d", "m", seed)
        rows = []
        for i, key in enumerate(keys):
            known = asked(rng, i, noise)
            rows.append({
                **key, **DESIGN._asdict(), "target": 0, "n_units": UNITS,
                "masks": np.packbits(known.left_out).tolist(), "falls": known.falls.tolist(),
                "ceiling": known.ceiling,
            })  # fmt: skip
        paths += [results.write("foresight", rows, "d", "m", seed, name) for name in metrics]
    output = root / "positive_control.parquet"
    control_power(results.of_model("predictions", "d", "m"), paths, output)
    return read_artefact(output, "positive_control")[0].to_pylist()


def removed(root, bases, texts=80, seeds=range(4), draws=5, noise=0.3):
    """Rows of the artefact of a study that removes words; log odds without them by group."""
    results, rng = Results(root, GROUPS), np.random.default_rng(0)
    keys = [{"example_id": f"{i}", "group": GROUPS[i % 2], "match_id": None} for i in range(texts)]
    labels = [i // 2 % 2 for i in range(texts)]
    paths = []
    for seed in seeds:
        results.write_predictions(keys, labels, labels, "d", "m", seed)
        rows = []
        for key in keys:
            weights = np.r_[[1.5] * 3, np.zeros(UNITS - 3)] + noise * rng.normal(size=UNITS)
            base = bases[GROUPS.index(key["group"])]
            orders = [rng.permutation(UNITS) for _ in range(draws)]
            falls = np.array([np.cumsum(weights[order]) for order in orders])
            best = np.cumsum(np.sort(weights)[::-1])
            full = base + weights.sum()
            for size in range(1, UNITS + 1):
                drawn = falls[:, size - 1]
                rows.append({
                    **key, "direction": "removed", "unit": "word", "size": size,
                    "random": (expit(full) - expit(full - drawn)).tolist(),
                    "random_log_odds": drawn.tolist(),
                    "reference": expit(full) - expit(full - best[size - 1]),
                    "reference_log_odds": best[size - 1],
                })  # fmt: skip
        paths.append(results.write("removal_limits", rows, "d", "m", seed))
    output = root / "positive_control.parquet"
    control_power(results.of_model("predictions", "d", "m"), None, output, paths)
    return read_artefact(output, "positive_control")[0].to_pylist()


def page(rows, cells=1, kind="simulatability"):
    pairs = [*dict.fromkeys((row["dataset"], row["model"]) for row in rows)]
    judged = [
        verdict_row("undecided", dataset=dataset, metric_kind=kind) for dataset, _ in pairs
    ] * cells
    known = SimpleNamespace(
        place=lambda dataset, model: f"{dataset}, {model}",
        pairs=pairs,
        standing=judged,
        statistics=SimpleNamespace(alpha=0.05),
    )
    return page_of("positive_control", findings(rows, known), known)


def test_a_good_explanation_is_fitted_and_scored_on_other_draws():
    rng = np.random.default_rng(1)
    known = asked(rng, 0, noise=0.0)
    good, random = control_scores(known, np.random.default_rng(2))
    assert good > 0.97
    assert abs(random) < good / 2
    # Falls that no weights explain are not foreseen, however many weights there are.
    chance = known._replace(falls=rng.normal(size=len(known.falls)))
    scores = [control_scores(chance._replace(falls=rng.normal(size=64)), rng)[0] for _ in range(40)]
    assert abs(np.mean(scores)) < 0.1


def test_good_scores_are_those_of_ridge_regression():
    from sklearn.linear_model import Ridge

    known = asked(np.random.default_rng(3), 0)
    expected = []
    for part in (slice(0, None, 2), slice(1, None, 2)):
        other = slice(1 - part.start, None, 2)
        left_out, falls = known.left_out[part].astype(float), known.falls[part]
        centred = left_out - left_out.mean()
        model = Ridge(alpha=len(falls) / 40, fit_intercept=False)
        weights = model.fit(centred, falls - falls.mean()).coef_
        expected.append(correlation(known.left_out[other] @ weights, known.falls[other]))
    good, _ = control_scores(known, np.random.default_rng(0))
    assert good == pytest.approx(np.mean(expected))


@pytest.mark.parametrize("changes", [{"falls": np.zeros(64)}, {"left_out": np.ones((64, 3))}])
def test_a_control_of_too_little_is_undefined(changes):
    known = asked(np.random.default_rng(0), 0)._replace(**changes)
    assert np.isnan(control_scores(known, np.random.default_rng(0))).all()


def test_a_worsening_is_found_where_there_are_texts_enough(tmp_path):
    rows = study(tmp_path)
    assert {row["n_seeds"] for row in rows} == {4}
    assert {row["worse_group"] for row in rows} == set(GROUPS)
    assert all(row["mean_a"] > 0.9 for row in rows)
    said = html.unescape(page(rows))
    assert "A worsening of 30 % planted in one group's explanations would have been found." in said


def test_what_would_not_have_been_found_is_said(tmp_path):
    rows = study(tmp_path, texts=8)
    assert "Not even a worsening of 50 %" in page(rows, cells=6)


def test_datasets_with_unlike_power_are_named(tmp_path):
    many = study(tmp_path / "many")
    few = [{**row, "dataset": "small"} for row in study(tmp_path / "few", texts=8)]
    said = html.unescape(page([*many, *few], cells=6))
    assert "On d, m, a worsening of" in said
    assert "On small, m, not even a worsening of 50 %" in said


def test_classifiers_of_one_class_are_left_out(tmp_path):
    assert {row["n_seeds"] for row in study(tmp_path, texts=40, collapsed=[1])} == {3}


def test_removal_finds_a_worsening_of_either_group(tmp_path):
    rows = removed(tmp_path, (0.0, 0.0))
    assert {row["witness"] for row in rows} == {"removed"}
    assert [row["mean_a"] for row in rows] == pytest.approx([1 - FAILURES] * 6, abs=0.05)
    assert [row["mean_b"] for row in rows] == pytest.approx([1 - FAILURES] * 6, abs=0.05)
    assert all(row["p"] < 0.025 for row in rows if row["share"] == 0.5)
    assert all(row["p"] > 0.05 for row in rows if row["share"] == 0.1)
    said = html.unescape(page(rows, kind="faithfulness"))
    assert "By removal, a worsening of 50 % planted in one group's explanations would have" in said
    assert "half of a text" not in said


def test_removal_is_blind_where_the_probability_of_one_group_never_falls(tmp_path):
    rows = removed(tmp_path, (0.0, 60.0))
    assert all(row["p"] == 1 for row in rows)
    said = html.unescape(page(rows, kind="faithfulness"))
    assert "By removal, not even a worsening of 50 %" in said


def test_a_planted_gap_in_skill_equals_ratios_of_means(tmp_path, monkeypatch):
    """All random in one group, and no failures: a skill of 1 and one near 0."""
    monkeypatch.setattr(_removal, "FAILURES", 0.0)
    rows = removed(tmp_path, (0.0, 0.0))
    assert {row["mean_a"] for row in rows} == {row["mean_b"] for row in rows} == {1.0}
    assert {row["control_p"] for row in rows} == {1.0}
    halves = {row["worse_group"]: row["d"] for row in rows if row["share"] == 0.5}
    # Half of the values are 1 and half near 0, against 1: 0.5 ÷ sqrt(0.25 ÷ 2) but for noise.
    assert halves["female"] == pytest.approx(-np.sqrt(2), abs=0.25)
    assert halves["male"] == pytest.approx(np.sqrt(2), abs=0.25)


def test_a_single_random_order_leaves_no_limits_of_others(tmp_path):
    assert removed(tmp_path, (0.0, 0.0), draws=1) == []


def test_both_witnesses_are_said_with_forward_simulation_first(tmp_path):
    rows = [*removed(tmp_path / "removed", (0.0, 0.0)), *study(tmp_path / "foreseen")]
    said = html.unescape(page(rows))
    assert said.index("A worsening of 30 %") < said.index("By removal, a worsening")


def test_metrics_that_draw_alike_are_one_control(tmp_path):
    once = study(tmp_path / "once", texts=20, seeds=range(2))
    twice = study(tmp_path / "twice", texts=20, seeds=range(2), metrics=("r", "ranks"))
    assert twice == once
