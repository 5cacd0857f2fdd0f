"""What the first screen says: which gaps stand, in which order, and what is warned of.

``python tests/report/test_findings.py`` writes the words anew; read them before you commit.
"""

import math
from pathlib import Path
from types import SimpleNamespace

from exparity.core.settings import StudyStatistics
from exparity.report.cautions import finding_cautions
from exparity.report.gather import Accuracy
from exparity.report.rows import ClassifierBias, JudgedCell, VerdictRow
from exparity.report.sections.findings import finding_words
from exparity.report.templating import html_environment
from exparity.report.verdicts import certainty, moved, only_certainty, sentence_of, skill_line
from exparity.stats.seeds import SeedTest

NAN = float("nan")
GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "findings.txt"
KINDS = {"comprehensiveness": "higher", "sufficiency": "lower", "gini": "higher"}
KINDS["forward_simulation"] = "higher"


CELL = {"method": "lime", "metric": "gini", "group_a": "men", "group_b": "women"}
ROW = {"dataset": "d", "model": "m", "method": "lime", "metric": "comprehensiveness"}
ROW |= {"group_a": "men", "group_b": "women"}


def judged(d, verdict, **more):
    """What may be concluded of the excess of a cell."""
    gap = {"d": d, "n_seeds": 1, "seeds_above": int(d > 0), "seeds_below": int(d < 0)}
    gap |= {"minimal_detectable_effect_corrected": 0.4, "verdict": verdict}
    return ROW | {"quantity": "excess", "verdict_strict": verdict, **gap, **more}


COMPARED = ("comprehensiveness", "sufficiency")


def study_of(
    verdicts, *, flags=(), seeds=(0,), accuracy=0.9, v=0.0, run="training", headline=COMPARED
):
    """A study of one dataset and model: ``verdicts`` by method and metric."""
    tests = [SeedTest(**CELL, p=0.5, flags=list(flags), quantity="excess") for _ in seeds]
    more = {"dataset": "d", "model": "bert", "quantity": "excess", "stands": True}
    cells = {}
    for (method, metric), row in verdicts.items():
        facts = {"method": method, "metric": metric, "better_group": _better(metric, row["d"])}
        facts |= {"metric_kind": _facts(metric).kind, "metric_direction": KINDS[metric]}
        facts |= {"headline": metric in headline}
        judged_row = VerdictRow(**{**row, **facts, **more, "quantity": row["quantity"]})
        cells["bert", method, metric] = JudgedCell({"excess": judged_row})
    table = SimpleNamespace(
        dataset="d", group_a="men", group_b="women",
        judged=[cell.standing for cell in cells.values() if cell.standing.verdict],
        cells={
            key: SimpleNamespace(verdicts=cell, standing=cell.standing, flags=flags)
            for key, cell in cells.items()
        },
    )  # fmt: skip
    ids = {"dataset": "d", "model": "bert", "seed": 0}
    whole = ClassifierBias("accuracy", "", "", "", accuracy, 200, **ids)
    by_group = {
        group: ClassifierBias("accuracy", group, "", "", value, 100, **ids)
        for group, value in {"men": 0.95, "women": accuracy}.items()
    }
    study = SimpleNamespace(
        rows=tests * len(cells), tests=tests * len(cells),
        judged=[row for cell in cells.values() for row in cell.rows.values()],
        pairs=[("d", "bert")], seeds=list(seeds), run=run, one_training=len(seeds) == 1,
        statistics=StudyStatistics(), accuracies=[Accuracy(whole, by_group)],
        dependence={"d": {"test": v}},
        display=lambda kind, id: id.upper(), metric_facts=_facts,
        declared=lambda dataset: SimpleNamespace(groups=("men", "women"), classes=("a", "b")),
    )  # fmt: skip
    return study, [table]


def _facts(metric):
    kinds = {"gini": "complexity", "forward_simulation": "simulatability"}
    return SimpleNamespace(direction=KINDS[metric], kind=kinds.get(metric, "faithfulness"))


def _better(metric, d):
    if metric == "gini":
        return None
    return "men" if (d > 0) == (KINDS[metric] == "higher") else "women"


def words(study, tables):
    """The text of the template."""
    from markupsafe import Markup

    template = html_environment().get_template("_findings.html.j2")
    html = template.render(study=study, **finding_words(study, tables))
    return " ".join(Markup(html).striptags().split())


def of_one(d, verdict, *, metric="comprehensiveness", study=None, **more):
    return study_of({("lime", metric): judged(d, verdict, **more)}, **(study or {}))


def of_several_methods():
    verdicts = {
        ("lime", "comprehensiveness"): judged(0.5, "different"),
        ("shap", "comprehensiveness"): judged(0.7, "different"),
        ("gradient", "comprehensiveness"): judged(-0.3, "undecided"),
        # Lower is better: the first group's higher values are worse.
        ("lime", "sufficiency"): judged(2.5, "different"),
        ("shap", "sufficiency"): judged(-3.0, "different"),
    }
    return study_of(verdicts)


def of_concentration():
    """Larger gaps of a description than of a comparison."""
    verdicts = {
        ("lime", "gini"): judged(-4.19, "different"),
        ("shap", "gini"): judged(2.0, "different"),
        ("lime", "comprehensiveness"): judged(0.5, "different"),
    }
    return study_of(verdicts)


def of_forward_simulation():
    """A smaller gap comes first, and cells of other metrics are counted apart."""
    score = {"quantity": "score", "mean_a": 0.31, "mean_b": 0.12}
    verdicts = {
        ("lime", "comprehensiveness"): judged(2.5, "different"),
        ("lime", "forward_simulation"): judged(0.5, "different", **score),
        ("shap", "forward_simulation"): judged(0.1, "undecided", **score),
        ("lime", "gini"): judged(0.1, "undecided"),
    }
    return study_of(verdicts, headline=["forward_simulation"])


def of_concentration_alone():
    verdicts = {("lime", "gini"): judged(-4.19, "different")}
    return study_of({**verdicts, ("lime", "comprehensiveness"): judged(0.1, "undecided")})


def of_both_sides(run):
    size = {"n_seeds": 3, "seeds_above": 2, "seeds_below": 1}
    size |= {"rms_gap": 1.2, "rms_low": 0.5, "rms_high": 3.0}
    several = {"seeds": (0, 1, 2), "run": run}
    return of_one(0.1, "unstable", metric="sufficiency", study=several, **size)


def of_trainings():
    verdicts = {
        ("lime", "comprehensiveness"): judged(-0.6, "different", n_seeds=2),
        ("shap", "comprehensiveness"): judged(0.9, "undecided", n_seeds=2),
        ("gradient", "comprehensiveness"): judged(NAN, None, n_seeds=2),
    }
    return study_of(verdicts, seeds=(0, 1))


def of_nine_classifiers():
    study, tables = of_one(0.1, "undecided")
    study.accuracies *= 9
    return study, tables


def of_silence(*, some):
    silent = {("lime", m): judged(NAN, None) for m in ("comprehensiveness", "sufficiency")}
    more = {("lime", "comprehensiveness"): judged(0.1, "undecided")} if some else {}
    return study_of({**silent, **more})


def doubtful(verdict="different", **changes):
    return of_one(2.0, verdict, study=changes, minimal_detectable_effect_corrected=1.1)


def three_groups():
    """Two pairs of groups with a cell each, whose scores differ and whose skill does not."""
    cell = skill(0.19, certainty_d=0.1, **ONE_SCALE)
    study, tables = many_pairs([0.4, 0.4])
    for table in tables:
        for named in table.cells.values():
            named.verdicts = cell
    groups = ("men", "women", "others")
    study.declared = lambda _: SimpleNamespace(groups=groups, classes=("a", "b"))
    study.dependence = {"d": {"test": 1.0}}
    return study, tables


def many_pairs(effects, flags=()):
    """A study of as many pairs of groups; each has one cell, which could show such a |d|."""
    study, tables = None, []
    for i, effect in enumerate(effects):
        few = {"minimal_detectable_effect_corrected": effect}
        study, (table,) = of_one(0.1, "undecided", study={"flags": flags}, **few)
        table.group_a, table.group_b = f"a{i}", f"b{i}"
        tables.append(table)
    return study, tables


STUDIES = {
    "several methods": of_several_methods,
    "both sides, by training": lambda: of_both_sides("training"),
    "both sides, by prompt": lambda: of_both_sides("prompt"),
    "over trainings": of_trainings,
    "concentration beside faithfulness": of_concentration,
    "forward simulation beside faithfulness": of_forward_simulation,
    "concentration alone": of_concentration_alone,
    "nothing found": lambda: of_one(0.1, "undecided"),
    "all equivalent": lambda: of_one(0.01, "equivalent"),
    "nothing tested": lambda: of_silence(some=False),
    "some not tested": lambda: of_silence(some=True),
    "nine classifiers": of_nine_classifiers,
    "label is group": lambda: doubtful(v=1.0),
    "label and group together": lambda: doubtful(v=0.3),
    "no better than chance": lambda: doubtful(accuracy=0.5),
    "cannot pass": lambda: doubtful(flags=["cannot_pass"]),
    "only large gaps": lambda: doubtful("undecided"),
    "three groups": three_groups,
    "several pairs, some": lambda: many_pairs([0.5, 1.1, 0.9, 2.0]),
    "several pairs, all": lambda: many_pairs([0.5] * 4, flags=["too_few"]),
    "several pairs, one": lambda: many_pairs([0.5, 1.1]),
}


def row(verdict, **more):
    """A row of the verdicts artefact."""
    gap = {"d": -0.5, "rms_gap": 0.75, "rms_low": 0.25, "rms_high": math.inf, "n_seeds": 3}
    gap |= {"seeds_above": 1, "seeds_below": 2, "better_group": "white"}
    gap |= {"group_a": "Afro-Caribbean", "group_b": "white", "stands": True, "headline": True}
    gap |= {"verdict": verdict, "verdict_strict": "undecided"}
    gap["minimal_detectable_effect_corrected"] = 1.25
    return VerdictRow(**{**ROW, "quantity": "score", **gap, **more})


def skill(d, verdict="undecided", **more):
    """The rows of a cell whose scores and excess differ."""
    judged = {"score": row("different", d=1.12, stands=False)}
    judged["excess"] = row("different", quantity="excess", d=0.59, stands=False)
    return JudgedCell(judged | {"skill": row(verdict, quantity="skill", d=d, **more)})


BARE = {"flags": ["not_relative"]}
TWICE = "detectable_with_twice_the_texts", "detectable_with_twice_the_trainings"
TEXTS = dict(zip(TWICE, (0.4, 0.9), strict=True))
TRAININGS = dict(zip(TWICE, (4.0, 1.3), strict=True))
SKILLS = {"quantity": "skill", "skill_a": 0.308, "skill_b": 0.671}
CONCENTRATED = {"metric_kind": "complexity", "better_group": None, "mean_a": 0.5, "mean_b": 0.25}
ROWS = {
    "higher is better": row("unstable"),
    "lower is better": row("unstable", better_group="Afro-Caribbean"),
    "averaged": row("different"),
    "scores beside skill": row("different", stands=False),
    "excess beside skill": row("unstable", quantity="excess", stands=False),
    "no random explanations": row("different", **BARE),
    "no gap, no random explanations": row("equivalent", **BARE),
    "needs texts": row("considerable", **TEXTS),
    "needs trainings": row("undecided", **TRAININGS, text_share=0.9),
    "needs prompts": row("undecided", **TRAININGS, run="prompt"),
    "needs either": row("undecided", **dict.fromkeys(TWICE, 1.0)),
    "no mean": row("undecided", minimal_detectable_effect_corrected=NAN),
    "settled": row("different", **TEXTS),
    "foreseen": row("different", metric_kind="simulatability", mean_a=0.103, mean_b=0.262),
    "foreseen now and then": row("unstable", metric_kind="simulatability"),
    "of rationales": row("different", metric_kind="correctness", quantity="excess"),
    "skill of rationales": row("different", metric_kind="correctness", **SKILLS),
    "concentrated": row("different", **CONCENTRATED, metric_direction="higher"),
    "concentrated, fewer words": row("different", **CONCENTRATED, metric_direction="lower"),
}
MEASURED = {
    "skill_a": 0.652, "skill_b": 0.58, "room_a": 0.4, "room_b": 0.27, "little_room_a": 0.0,
    "little_room_b": 0.125, "d_ranks": 0.62, "d_log_odds": 0.39, "d_probability": -0.48,
    "p_ranks": 1e-4, "p_log_odds": 0.083, "p_probability": 0.5,
}  # fmt: skip
ONE_SCALE = {**MEASURED, "d_log_odds": NAN, "d_probability": NAN}
CELLS = {
    "only surer": skill(0.19, certainty_d=0.9, surer_of="Afro-Caribbean", **MEASURED),
    "as sure of both": skill(0.19, certainty_d=0.1, **ONE_SCALE),
    "of a rationale": skill(
        0.19, certainty_d=0.9, surer_of="Afro-Caribbean", **{**ONE_SCALE, "d_ranks": NAN}
    ),
    "skill differs": skill(
        0.19, "different", certainty_d=0.9, surer_of="Afro-Caribbean", **MEASURED
    ),
    "no skill": JudgedCell(
        {"score": row("equivalent"), "excess": row("undecided", quantity="excess")}
    ),
}


def sentences():
    for name, shown in ROWS.items():
        yield f"{name}: {sentence_of(shown, 0.2)}"
    for name, cell in CELLS.items():
        yield f"{name}: {moved(cell)}|{only_certainty(cell)}|{skill_line(cell.skill)}"
    bert = row("equivalent", model="bert", certainty_d=-0.914, surer_of="white")
    others = [row("equivalent", model="gpt", certainty_d=d) for d in (0.1, NAN)]
    yield certainty([bert, bert, *others])


def said():
    yield from sentences()
    for name, make in STUDIES.items():
        yield f"=== {name}"
        yield from finding_cautions(*make())
        yield words(*make())


def test_the_words_are_those_that_were_read():
    known = GOLDEN.read_text(encoding="utf-8").splitlines()
    assert list(said()) == known, "python tests/report/test_findings.py writes them anew"


if __name__ == "__main__":
    GOLDEN.write_text("\n".join(said()) + "\n", encoding="utf-8")
