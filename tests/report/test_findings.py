"""What the first screen says: which gaps stand, in which order, and what is warned of."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from exparity.report.sections.findings import (
    finding_cautions,
    finding_words,
    findings_of,
    in_plain_words,
)
from exparity.report.templating import html_environment
from exparity.stats.dependence import Dependence

NAN = float("nan")
KINDS = {"comprehensiveness": "higher", "sufficiency": "lower"}


def judged(d, verdict, **more):
    """What may be concluded of the excess of a cell."""
    return {
        "quantity": "excess", "group_a": "men", "group_b": "women", "n_seeds": 1, "d": d,
        "seeds_above": int(d > 0), "seeds_below": int(d < 0), "rms_gap": NAN, "rms_low": NAN,
        "rms_high": NAN, "minimal_detectable_effect_corrected": 0.4, "verdict": verdict,
        "verdict_strict": verdict, **more,
    }  # fmt: skip


def study_of(verdicts, *, flags=(), seeds=(0,), accuracy=0.9, v=0.0, run="training"):
    """A study of one dataset and model: ``verdicts`` by method and metric."""
    tests = [{"p": 0.5, "flags": list(flags)} for _ in seeds]
    cells = {("bert", *key): {"excess": row} for key, row in verdicts.items()}
    table = SimpleNamespace(
        dataset="d", group_a="men", group_b="women", tests=dict.fromkeys(cells, tests),
        cells={key: SimpleNamespace(verdicts=of) for key, of in cells.items()},
    )  # fmt: skip
    one = SimpleNamespace(
        dataset="d", model="bert", seed=0, overall=accuracy, n=200, collapsed=False,
        by_group={"men": 0.95, "women": accuracy},
    )  # fmt: skip
    sizes = [
        {"dataset": "d", "model": "bert", "seed": 0, "quantity": "accuracy", "group": g, "n": 100}
        for g in ("men", "women")
    ]
    study = SimpleNamespace(
        rows=tests * len(cells), excess=tests * len(cells), verdicts=cells,
        pairs=[("d", "bert")], seeds=list(seeds), run=run,
        statistics={"alpha": 0.05, "threshold": 0.2}, accuracies=[one],
        bias=SimpleNamespace(rows=sizes), dependence={"d": {"test": Dependence(200, v)}},
        display=lambda kind, id: id.upper(), metric_facts=_facts,
        declared=lambda dataset: SimpleNamespace(groups=("men", "women"), classes=("a", "b")),
    )  # fmt: skip
    return study, [table]


def _facts(metric):
    return SimpleNamespace(direction=KINDS[metric], kind="faithfulness")


def words(study, tables):
    """The text of the template."""
    from markupsafe import Markup

    template = html_environment().get_template("_findings.html.j2")
    html = template.render(study=study, **finding_words(study, tables))
    return " ".join(Markup(html).striptags().split())


def test_gaps_on_which_methods_agree_come_first():
    study, tables = study_of(
        {
            ("lime", "comprehensiveness"): judged(0.5, "different"),
            ("shap", "comprehensiveness"): judged(0.7, "different"),
            ("gradient", "comprehensiveness"): judged(-0.3, "undecided"),
            # Lower is better: the first group's higher values are worse.
            ("lime", "sufficiency"): judged(2.5, "different"),
            ("shap", "sufficiency"): judged(-3.0, "different"),
        }
    )
    first, second = findings_of(study, tables)
    assert (first.metric, first.methods) == ("COMPREHENSIVENESS", 3)
    assert [(gap.method, gap.d, gap.better) for gap in first.gaps] == [
        ("SHAP", 0.7, "men"),
        ("LIME", 0.5, "men"),
    ]
    assert [(gap.d, gap.better, gap.worse) for gap in second.gaps] == [
        (-3.0, "men", "women"),
        (2.5, "women", "men"),
    ]
    text = words(study, tables)
    assert "The largest gaps beyond those of random explanations" in text
    assert "COMPREHENSIVENESS (faithfulness) is better for men than for women with 2 of 3" in text
    assert "most with SHAP: This classifier favours men (d = +0.70)." in text
    assert "SUFFICIENCY (faithfulness) is better for one group with some methods and" in text
    assert text.index("COMPREHENSIVENESS") < text.index("SUFFICIENCY")
    assert "This is one trained classifier." in text
    assert "right for 90 % of the 200 texts of D (men: 95 % of 100; women: 90 % of 100)." in text


@pytest.mark.parametrize("run", ["training", "prompt"])
def test_gaps_that_change_sides_are_named_as_such(run):
    size = {"n_seeds": 3, "seeds_above": 2, "seeds_below": 1}
    size |= {"rms_gap": 1.2, "rms_low": 0.5, "rms_high": 3.0}
    cell = judged(0.1, "unstable", **size)
    study, tables = study_of({("lime", "sufficiency"): cell}, seeds=(0, 1, 2), run=run)
    (finding,) = findings_of(study, tables)
    assert (finding.size, finding.is_consistent, finding.gaps[0].better) == (1.2, False, None)
    text = words(study, tables)
    changes = f"differs, and which group it favours changes from {run} to {run}, with 1 of 1 method"
    assert changes in text
    assert f"R is the typical |d| of one {run}." in text
    assert "(R = 0.50 to 3.00); which group it favours changes: 2 of 3 favour women, 1 men" in text


def test_what_says_nothing_is_not_found():
    study, tables = study_of({("lime", "comprehensiveness"): judged(0.7, None)})
    assert findings_of(study, tables) == []


def test_nothing_found_does_not_say_that_there_is_nothing():
    """M2: how large a gap would have been found is said of matched sets, too."""
    study, tables = study_of({("lime", "comprehensiveness"): judged(0.1, "undecided")})
    text = words(study, tables)
    assert "no gap between groups is larger than what random explanations show. That does" in text
    assert "none: in half of the cells, a gap of |d| = 0.4 would have been found." in text


def test_nothing_is_said_of_what_might_be_where_all_cells_are_equivalent():
    study, tables = study_of({("lime", "comprehensiveness"): judged(0.01, "equivalent")})
    text = words(study, tables)
    assert "Every cell that was tested is equivalent: no gap to speak of." in text
    assert "does not show" not in text


def test_where_nothing_can_be_tested_nothing_is_said_of_gaps():
    """m4: all classifiers have collapsed, or some cells alone say nothing."""
    silent = {("lime", m): judged(NAN, None) for m in ("comprehensiveness", "sufficiency")}
    text = words(*study_of(silent))
    assert "Nothing could be tested: no classifier that works has scores that differ." in text
    assert "no gap between groups" not in text
    some = {**silent, ("lime", "comprehensiveness"): judged(0.1, "undecided")}
    text = words(*study_of(some))
    assert "|d| = 0.4 would have been found. 1 of 2 cells could not be tested." in text


def test_over_trainings_the_verdict_counts():
    several = {"n_seeds": 2}
    verdicts = {
        ("lime", "comprehensiveness"): judged(-0.6, "different", **several),
        ("shap", "comprehensiveness"): judged(0.9, "undecided", **several),
        ("gradient", "comprehensiveness"): judged(NAN, None, **several),
    }
    study, tables = study_of(verdicts, seeds=(0, 1))
    (finding,) = findings_of(study, tables)
    assert [(gap.method, gap.better) for gap in finding.gaps] == [("LIME", "women")]
    assert finding.methods == 2
    assert "one trained classifier" not in words(study, tables)


def test_several_classifiers_of_one_seed_are_one_training_each():
    study, tables = study_of({("lime", "comprehensiveness"): judged(0.1, "undecided")})
    study.accuracies *= 9
    text = words(study, tables)
    assert "Each classifier is one training." in text
    assert text.count("bert is right for") == 6


@pytest.mark.parametrize(
    ("changes", "verdict", "wanted"),
    [
        (
            {"v": 1.0},
            "different",
            "On D, label and group cannot be told apart: ",
        ),
        ({"accuracy": 0.5}, "different", "On D, bert (seed 0) is right for 50 % of the texts, no"),
        ({"flags": ["cannot_pass"]}, "different", "men and women of D: 1 of 1 comparisons are of"),
        ({}, "undecided", "men and women of D: so few texts that only very large gaps would be"),
    ],
)
def test_what_makes_gaps_doubtful_is_said_first(changes, verdict, wanted):
    cell = judged(2.0, verdict, minimal_detectable_effect_corrected=1.1)
    study, tables = study_of({("lime", "comprehensiveness"): cell}, **changes)
    (sentence,) = finding_cautions(study, tables)
    assert sentence.startswith(wanted)
    text = words(study, tables)
    said = "The largest gaps" if verdict == "different" else "After correction"
    assert text.index(wanted[:20]) < text.index(said)


def many_pairs(effects, flags=()):
    """A study of as many pairs of groups; each has one cell, which could show such a |d|."""
    study, tables = None, []
    for i, effect in enumerate(effects):
        cell = judged(0.1, "undecided", minimal_detectable_effect_corrected=effect)
        study, (table,) = study_of({("lime", "comprehensiveness"): cell}, flags=flags)
        table.group_a, table.group_b = f"a{i}", f"b{i}"
        tables.append(table)
    return study, tables


def test_m3_many_pairs_of_groups_are_one_caution():
    study, tables = many_pairs([0.5, 1.1, 0.9, 2.0])
    assert finding_cautions(study, tables) == [
        "3 of 4 pairs of groups of D: so few texts that only very large gaps would be seen, of "
        "|d| = 0.9 to 2.0 or more."
    ]
    assert finding_cautions(*many_pairs([0.5] * 4, flags=["too_few"])) == [
        "4 of 4 pairs of groups of D: 4 of 4 comparisons are of so few texts that no gap could be "
        "significant."
    ]
    assert finding_cautions(*many_pairs([0.5, 1.1])) == [
        "a1 and b1 of D: so few texts that only very large gaps would be seen, of |d| = 1.1 or "
        "more."
    ]


def test_the_terminal_says_what_the_page_begins_with():
    verdicts = {
        ("lime", "comprehensiveness"): judged(0.5, "different"),
        ("shap", "comprehensiveness"): judged(0.7, "different"),
        ("lime", "sufficiency"): judged(0.1, "undecided"),
    }
    caution, counts, gap = in_plain_words(*study_of(verdicts, v=1.0))
    assert caution.startswith("Caution: On D, label and group cannot be told apart")
    assert counts == (
        "Decided: 2 of 3 cells, in excess over random explanations (2 different, 1 undecided)."
    )
    assert gap == (
        "COMPREHENSIVENESS is better for men than for women with 2 of 2 methods, most with SHAP: "
        "This classifier favours men (d = +0.70)."
    )
    nothing = {("lime", "comprehensiveness"): judged(0.1, "undecided")}
    *_, last = in_plain_words(*study_of(nothing))
    assert last.startswith("After correction for the number of comparisons, no gap between groups")
