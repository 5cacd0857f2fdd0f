"""What the first screen says: which gaps stand, in which order, and what is warned of."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from exparity.report.sections.findings import cautions, detectable, findings_of, words_of
from exparity.report.templating import html_environment
from exparity.stats.dependence import Dependence

NAN = float("nan")
KINDS = {"comprehensiveness": "higher", "sufficiency": "lower"}


def row(d, p, **more):
    """A test of the excess; raw scores differ without an end."""
    return {
        "p_holm": 0.0, "cohens_d": 9.0, "excess_p": p, "excess_p_holm": p, "excess_cohens_d": d,
        "wilcoxon_p_holm": NAN, "excess_wilcoxon_p_holm": NAN, "n_pairs": 0, "n_a": 100, "n_b": 100,
        "flags": [], **more,
    }  # fmt: skip


def study_of(tests, *, verdicts=None, seeds=(0,), accuracy=0.9, v=0.0):
    """A study of one dataset and model: ``tests`` by method and metric."""
    cells = {("bert", *key): rows for key, rows in tests.items()}
    judged = {
        ("bert", *key): {"excess": {"quantity": "excess", "n_seeds": len(seeds), **row}}
        for key, row in (verdicts or {}).items()
    }
    table = SimpleNamespace(
        dataset="d", group_a="men", group_b="women", tests=cells,
        cells={key: SimpleNamespace(verdicts=judged.get(key, {})) for key in cells},
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
        rows=[row for rows in cells.values() for row in rows],
        verdicts=judged,
        pairs=[("d", "bert")], seeds=list(seeds), statistics={"alpha": 0.05}, accuracies=[one],
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
    html = template.render(study=study, **words_of(study, tables))
    return " ".join(Markup(html).striptags().split())


def test_gaps_on_which_methods_agree_come_first():
    study, tables = study_of(
        {
            ("lime", "comprehensiveness"): [row(0.5, 0.01)],
            ("shap", "comprehensiveness"): [row(0.7, 0.01)],
            ("gradient", "comprehensiveness"): [row(-0.3, 0.4)],
            # Lower is better: the first group's higher values are worse.
            ("lime", "sufficiency"): [row(2.5, 0.01)],
            ("shap", "sufficiency"): [row(-3.0, 0.01)],
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
    assert "SUFFICIENCY (faithfulness) is better for one group with some methods and" in text
    assert text.index("COMPREHENSIVENESS") < text.index("SUFFICIENCY")
    assert "This is one trained classifier." in text
    assert "right for 90 % of the 200 texts of D (men: 95 % of 100; women: 90 % of 100)." in text


def test_matched_sets_have_the_signed_rank_test():
    matched = row(0.7, 0.9, n_pairs=90, excess_wilcoxon_p_holm=0.01)
    study, tables = study_of({("lime", "comprehensiveness"): [matched]})
    assert len(findings_of(study, tables)) == 1


def test_what_says_nothing_is_not_found():
    starred = row(0.7, 0.01, flags=["rounding_noise"])
    study, tables = study_of({("lime", "comprehensiveness"): [starred]})
    assert findings_of(study, tables) == []


def test_nothing_found_does_not_say_that_there_is_nothing():
    study, tables = study_of({("lime", "comprehensiveness"): [row(0.1, 0.6)]})
    text = words(study, tables)
    assert "No gap between groups stands beyond those of random explanations" in text
    assert "That does not show that there is none: of one smaller than |d| ≈ 0.4" in text


def test_over_trainings_the_verdict_counts():
    verdicts = {
        ("lime", "comprehensiveness"): {"verdict": "different", "d": -0.6},
        ("shap", "comprehensiveness"): {"verdict": "undecided", "d": 0.9},
        ("gradient", "comprehensiveness"): {"verdict": None, "d": NAN},
    }
    tests = {key: [row(0.9, 0.001), row(0.9, 0.001)] for key in verdicts}
    study, tables = study_of(tests, verdicts=verdicts, seeds=(0, 1))
    (finding,) = findings_of(study, tables)
    assert [(gap.method, gap.better) for gap in finding.gaps] == [("LIME", "women")]
    assert finding.methods == 2
    assert "one trained classifier" not in words(study, tables)


def test_several_classifiers_of_one_seed_are_one_training_each():
    study, tables = study_of({("lime", "comprehensiveness"): [row(0.1, 0.6)]})
    study.accuracies *= 9
    text = words(study, tables)
    assert "Each classifier is one training." in text
    assert text.count("bert is right for") == 6


def test_the_detectable_gap_is_that_of_a_t_test():
    # Cohen 1988, table 2.4.1: d = 0.40 at n = 100 each, power 0.80, two-sided 0.05.
    study, tables = study_of({("lime", "comprehensiveness"): [row(0.1, 0.6)]})
    assert detectable(study, tables[0]) == pytest.approx(0.40, abs=0.01)


@pytest.mark.parametrize(
    ("changes", "more", "wanted"),
    [
        ({"v": 1.0}, {}, "On D, label and group cannot be told apart: Cramér's V is 1.00. A gap"),
        ({"accuracy": 0.5}, {}, "On D, bert (seed 0) is right for 50 % of the texts, no more than"),
        ({}, {"flags": ["cannot_pass"]}, "men and women of D: 1 of 1 comparisons are of so few"),
        ({}, {"n_b": 6}, "men and women of D: so few texts that only very large gaps would be"),
    ],
)
def test_what_makes_gaps_doubtful_is_said_first(changes, more, wanted):
    study, tables = study_of({("lime", "comprehensiveness"): [row(2.0, 0.01, **more)]}, **changes)
    (sentence,) = cautions(study, tables)
    assert sentence.startswith(wanted)
    text = words(study, tables)
    assert text.index(wanted[:20]) < text.index("The largest gaps")
