"""Whatever an analysis finds, no sentence of rankings, remedies or raters contradicts its rows."""

import math
import re
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up import filled

from exparity.core.formats import in_sentence
from exparity.methods.facts import RANDOM
from exparity.report.names import display_name
from exparity.report.ranking import rankings_of
from exparity.report.raters import rater_sentences
from exparity.report.remedies import remedy_sentences, tried_in
from exparity.stats.ranking import EVERYBODY
from exparity.stats.verdicts import VERDICTS

NAN = math.nan
METHODS = ("lime", "shap", "gradient")
METRICS = ("rationale_auprc", "rationale_iou")
GROUPS = ("north", "east", "south", "west")
SEEDS = st.integers(0, 2**32 - 1)
NUMBER = r"−?\d[\d.]*(?:e[+−]?\d+)?"


def value_of(text):
    return float(text.rstrip(".").replace("−", "-"))


def study_of(groups, kind="faithfulness"):
    return SimpleNamespace(
        display=lambda kind, id: id,
        name=lambda kind, id: id,
        place=lambda dataset, model: f"{dataset} and {model}",
        measure=lambda metric: metric,
        metric_facts=lambda metric: SimpleNamespace(kind=kind),
        declared=lambda dataset: SimpleNamespace(groups=groups),
        run="training",
    )


def ranking_rows(rng, methods, groups, is_higher_better):
    """Return tests of every two methods: some untested, some significant in a group or over all."""
    share = rng.choice([0.0, 0.3, 1.0])
    missing = rng.choice([0.0, 0.2])
    levels = {m: {g: float(rng.normal()) for g in groups} for m in methods}
    rows = []
    for group in (EVERYBODY, *groups):
        for i, method_a in enumerate(methods):
            for method_b in methods[i + 1 :]:
                a, b = (
                    levels[m][group] if group else float(np.mean([*levels[m].values()]))
                    for m in (method_a, method_b)
                )  # fmt: skip
                is_tested = rng.random() >= missing
                is_found = is_tested and rng.random() < share
                better = method_a if (a > b) == is_higher_better else method_b
                rows.append(filled(
                    "ranking", dataset="d", model="m", metric="x", group=group,
                    method_a=method_a, method_b=method_b, n_texts=9 if is_tested else 0,
                    mean_a=a if is_tested else NAN, mean_b=b if is_tested else NAN,
                    higher_is_better=is_higher_better, better=better if is_found else "",
                ))  # fmt: skip
    return rows


@given(SEEDS, st.sampled_from([2, 4]), st.booleans(), st.booleans(), st.integers(1, 3))
@settings(max_examples=150)
def test_rankings_agree_with_their_tests(seed, n_groups, is_higher_better, has_random, n_methods):
    rng = np.random.default_rng(seed)
    groups = GROUPS[:n_groups]
    methods = [*METHODS[:n_methods], *([RANDOM] if has_random or n_methods == 1 else [])]
    rows = ranking_rows(rng, methods, groups, is_higher_better)
    (ranking,) = rankings_of(rows, study_of(groups))
    text = " ".join(ranking.sentences)

    def beaten_by(method, group):
        pair = [row for row in rows if method in (row["method_a"], row["method_b"])]
        return [
            r["better"] for r in pair if r["group"] == group and r["better"] not in ("", method)
        ]

    found = [row for row in rows if row["better"] and row["better"] != RANDOM]
    if "No method is shown to be better than another" in text:
        assert not [row for row in found if RANDOM not in (row["method_a"], row["method_b"])]
    best_for = r"([\w, ]+) (is|are) best for ([\w, ]+)(; for [\w, ]+ no method is shown)?"
    for names, verb, who, no_method in re.findall(best_for, text):
        chosen = re.findall("|".join(METHODS), names)
        assert chosen
        assert (verb == "is") == (len(chosen) == 1)
        named = re.findall("|".join(GROUPS), f"{who}{no_method}")
        assert sorted(named) == ([] if "every group" in f"{who}{no_method}" else sorted(groups))
        for method in chosen:
            assert not any(beaten_by(method, group) for group in groups)
    for names in re.findall(r"([\w, ]+) are best [^.;]*not told apart", text):
        equals = {*re.findall("|".join(METHODS), names)}
        assert not any({row["method_a"], row["method_b"]} <= equals for row in found)
    for group, names, verb in re.findall(r"For (\w+) texts, ([\w, ]*?) ?(is|are) best[.,]", text):
        chosen = re.findall("|".join(METHODS), names)
        assert chosen
        assert (verb == "is") == (len(chosen) == 1)
        assert not any(beaten_by(method, group) for method in chosen)
    for group in re.findall(r"For (\w+) texts, no method is shown to be better than random", text):
        assert all(beaten_by(m, group) for m in methods if m != RANDOM)
    for method in re.findall(r"(\w+) serves the worst-off group best", text):
        sign = 1 if is_higher_better else -1
        known = {}
        for row in rows:
            if row["group"] and row["n_texts"]:
                known.setdefault(row["method_a"], {})[row["group"]] = sign * row["mean_a"]
                known.setdefault(row["method_b"], {})[row["group"]] = sign * row["mean_b"]
        worst = {m: min(by.values()) for m, by in known.items() if len(by) == n_groups}
        assert worst[method] == max(worst[m] for m in worst if m != RANDOM)
    for names in re.findall(r"([\w, ]+) (?:is|are) not shown to be better than random", text):
        for method in re.findall("|".join(METHODS), names):
            against = [r for r in rows if r["group"] == EVERYBODY
                       and {r["method_a"], r["method_b"]} == {method, RANDOM}]  # fmt: skip
            assert not any(row["better"] == method for row in against)


def remedy_rows(rng):
    """Return remedies of two datasets by two metrics, of which any help."""
    rows = []
    for dataset in ("d", "e"):
        for metric, kind in (("foresees", "simulatability"), ("removes", "faithfulness")):
            if rng.random() < 0.2:
                continue
            for rank in range(1, 5):
                kind_of_remedy = str(rng.choice(["method", "mean", "debiasing", "temperature"]))
                replacement = {"method": "shap", "mean": "shap+gradient", "debiasing": "fair"}
                level = float(rng.choice([0.1234, 0.5, 12.0, -0.3]))
                gain = float(rng.choice([2e-5, 0.004, 0.2]))
                sign = -1 if metric == "removes" else 1
                gap = float(rng.choice([0.001, 0.3]))
                is_for_all = kind_of_remedy == "debiasing"
                other_gain = float(rng.choice([-0.2, 0.0, 0.1])) if is_for_all else 0.0
                before, after, other, other_after = (
                    float(share) for share in rng.choice([0.7, 0.9, 0.95], size=4)
                )
                accuracy = {"accuracy": before, "other_accuracy": other}
                accuracy |= {"accuracy_after": after, "other_accuracy_after": other_after}
                if not is_for_all:
                    accuracy |= {"accuracy_after": before, "other_accuracy_after": other}
                rows.append(filled(
                    "remedies", dataset=dataset, model="m", metric=metric, metric_kind=kind,
                    quantity="score", method="lime", group="north", other_group="east",
                    kind=kind_of_remedy, replacement=replacement.get(kind_of_remedy, ""),
                    level=level, level_after=level + sign * gain, gain=gain,
                    other_level=level + sign * gap,
                    other_level_after=level + sign * (gap + other_gain), gap=gap,
                    gap_after=gap + other_gain - gain, rank=rank,
                    helps=bool(rng.random() < 0.5) and kind_of_remedy != "temperature",
                    **accuracy,
                ))  # fmt: skip
    return rows


@given(SEEDS, st.sampled_from([2, 4]))
@settings(max_examples=150)
def test_remedies_agree_with_what_they_changed(seed, n_groups):
    rows = remedy_rows(np.random.default_rng(seed))
    sentences = remedy_sentences(tried_in(rows), study_of(GROUPS[:n_groups]))
    foreseen = {row["dataset"] for row in rows if row["metric"] == "foresees"}
    told = [row for row in rows if row["helps"]
            and (row["metric"] == "foresees" or row["dataset"] not in foreseen)]  # fmt: skip
    assert len(sentences) == len({row["dataset"] for row in told})
    for sentence in sentences:
        dataset = re.match(r"On (\w) and m, ", sentence)[1]
        cell = [row for row in told if row["dataset"] == dataset]
        row = min(cell, key=lambda row: row["rank"])
        before, after = re.search(rf"({NUMBER}) → ({NUMBER})", sentence).groups()
        assert value_of(before) == pytest.approx(row["level"], rel=0.01)
        assert value_of(after) == pytest.approx(row["level_after"], rel=0.01)
        is_lower = row["level_after"] < row["level"]
        assert (value_of(after) < value_of(before)) == is_lower
        assert value_of(after) != value_of(before)
        assert ("lower is better" in sentence) == is_lower
        fell = [
            row["accuracy_after"] < row["accuracy"],
            row["other_accuracy_after"] < row["other_accuracy"],
            row["gap_after"] - row["gap"] + row["gain"] < -1e-3,
        ]
        if row["kind"] != "debiasing":
            assert sentence.endswith("nobody loses.")
        elif any(fell):
            assert "loses" not in sentence.replace("loses accuracy", "")
        elif n_groups > 2:
            assert "nobody loses" not in sentence


def rater_rows(rng, metrics):
    """Return tests of groups of raters: verdicts of any kind, and some untested."""
    words = [*(verdict.id for verdict in VERDICTS), None]
    words = [words, words[-1:], ["equivalent"], ["undecided", None]][rng.integers(4)]
    rows = []
    for metric in metrics:
        for method in METHODS[:2]:
            word = words[rng.integers(len(words))]
            low = float(rng.choice([0.1, 0.1004, 0.3]))
            estimate = float(rng.choice([-1, 1]) * rng.choice([0.001, 0.004, 0.2]))
            effect = float(rng.choice([0.1, 1.0, 9.0])) if word else NAN
            rows.append(filled(
                "whose_rationale", dataset="d", model="m", method=method, metric=metric,
                compared="age", planned=True, quantity="skill", group_a="old", group_b="young",
                mean_a=low + max(estimate, 0), mean_b=low - min(estimate, 0), estimate=estimate,
                pooled_sd=0.2 if word or rng.random() < 0.5 else NAN,
                minimal_detectable_effect_corrected=effect, verdict=word,
                flags=[] if word else [str(rng.choice(["too_few", "constant", "no_variance"]))],
            ))  # fmt: skip
    return rows


@given(SEEDS, st.sampled_from([METRICS[:1], METRICS]))
@settings(max_examples=150)
def test_sentences_on_raters_agree_with_their_tests(seed, metrics):
    rows = rater_rows(np.random.default_rng(seed), metrics)
    (sentence,) = rater_sentences(rows, study_of(GROUPS[:2]))
    facts = {verdict.id: verdict for verdict in VERDICTS}
    judged = [row for row in rows if row["verdict"]]
    gaps = [row for row in judged if facts[row["verdict"]].is_gap]
    sided = [row for row in gaps if facts[row["verdict"]].favours]
    clauses = re.findall(
        rf"(\w+)(?: by ([^()]+))? with (old|young) \(({NUMBER})\) more than with (old|young) "
        rf"\(({NUMBER})\)", sentence
    )  # fmt: skip
    assert len(clauses) == len(sided)
    for (method, metric, favoured, higher, other, lower), row in zip(clauses, sided, strict=True):
        name = in_sentence(display_name("metric", row["metric"], row["metric"]))
        assert (method, metric) == (row["method"], name if len(metrics) > 1 else "")
        assert favoured == ("old" if row["estimate"] > 0 else "young")
        assert favoured != other
        assert value_of(higher) > value_of(lower)
    assert ("are not shown to agree" in sentence) == (bool(judged) and not gaps)
    assert ("changes from training to training" in sentence) == (len(gaps) > len(sided))
    if "too few raters or texts" in sentence:
        assert any(row["flags"] == ["too_few"] for row in rows)
    alike = sum(row["verdict"] == "equivalent" for row in judged)
    for n, of_all in re.findall(r"(\d+) of (\d+) comparisons are shown to be equivalent", sentence):
        assert (int(n), int(of_all)) == (alike, len(judged))
    untested = re.findall(r"(\d+) of (\d+) comparisons could not be tested", sentence)
    missing = len(rows) - len(judged)
    assert [(int(n), int(m)) for n, m in untested] == ([(missing, len(rows))] if missing and judged
                                                      else [])  # fmt: skip
    for size in re.findall(rf"gaps in skill of ({NUMBER}) would have been found", sentence):
        largest = max(0.2 * row["minimal_detectable_effect_corrected"] for row in judged)
        assert value_of(size) == pytest.approx(largest, abs=0.006)
    if "nan" in sentence:
        pytest.fail(sentence)
