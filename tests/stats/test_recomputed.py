"""The verdicts of the default experiment, computed again from its stored scores.

``demo_scores.py RESULTS`` checks a finished run in the same way at full precision, and stores it.
"""

import ast
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from stats import demo_scores, recomputed

from exparity.artefacts.columns import Examples
from exparity.artefacts.ids import Provenance
from exparity.core.settings import DEFAULTS
from exparity.quantities.classifiers import Classifier, Classifiers
from exparity.quantities.quantity import Quantity, Skill
from exparity.quantities.scores import Cell, Scores
from exparity.stages.compare._trainings import training_rows
from exparity.stats.among import among_right
from exparity.stats.verdicts import judge, standing

GROUPS = "male", "female"
MOST_KIB = 300


@pytest.fixture(scope="module")
def studies():
    return demo_scores.stored()


@pytest.fixture(scope="module")
def rows(studies):
    return recomputed.verdicts_of(studies)


@pytest.fixture(scope="module")
def expected(studies):
    return judged_by_product(studies)


def judged_by_product(studies):
    rows = []
    for dataset, study in studies.items():
        model = model_of(study)
        n_words = study.n_words
        classifiers = classifiers_of(study, model)
        for row in training_rows(model, DEFAULTS, classifiers, n_words):
            rows.append({"dataset": dataset, "model": "m", **row})
    stood = standing(rows)
    right = judge([among_right(row) for row in stood])
    return [
        {**row, "verdict_right": by_right["verdict"]}
        for row, by_right in zip(judge(stood), right, strict=True)
    ]


def model_of(study):
    examples = Examples()
    n = len(study.is_first)
    examples.ids = [str(i) for i in range(n)]
    examples.groups = groups_of(study)
    examples.sets = [None if number < 0 else str(number) for number in study.sets]
    cells = []
    for metric, quantities in recomputed.QUANTITIES.items():
        for method in recomputed.METHODS:
            for seed in demo_scores.SEEDS:
                cells.append(cell_of(study, metric, method, seed, quantities))
    return Scores(examples, cells)


def groups_of(study):
    return [GROUPS[0] if is_first else GROUPS[1] for is_first in study.is_first]


def cell_of(study, metric, method, seed, quantities):
    is_random = method == recomputed.METHODS[-1]
    prefix = "random_" if is_random else ""
    compared = {}
    for quantity in quantities:
        if quantity == "skill":
            compared[f"{prefix}skill"] = skill_of(study, method, seed)
        else:
            values = study.values[f"{metric}/{quantity}/{method}"][seed]
            compared[f"{prefix}{quantity}"] = Quantity({None: values})
    ids = {"seed": seed, "metric": metric, "method": method}
    is_foreseen = metric == "forward_simulation"
    return Cell(
        Path("scores"),
        Provenance(wildcards=ids, parameters={"use": metric}, groups=list(GROUPS)),
        method,
        0 if is_random else None,
        np.arange(len(study.is_first)),
        compared,
        study.n_units if is_foreseen else None,
        study.values["ceiling"][seed] if is_foreseen else None,
    )


def skill_of(study, method, seed):
    steps = {
        scale: np.column_stack(
            [study.values[f"{part}/{scale}/{method}"][seed] for part in ("gain", "room")]
        )
        for scale in recomputed.SCALES
    }
    stepless = np.isnan(steps["ranks"]).any()
    counting = study.values["counting"][seed]
    flags = ["stepless"] if stepless else []
    return Skill.of(steps, groups_of(study), flags=flags, counting=counting)


def classifiers_of(study, model):
    by_seed = {}
    for seed in demo_scores.SEEDS:
        certainty = study.values["certainty"][seed]
        is_right = study.values["right"][seed] > 0
        sides = dict(zip(GROUPS, (study.is_first, ~study.is_first), strict=True))
        by_seed[seed] = Classifier(
            accuracy=is_right.mean(),
            is_collapsed=False,
            is_informative=True,
            certainty=dict(zip(model.examples.ids, certainty.tolist(), strict=True)),
            right=dict(zip(model.examples.ids, is_right.tolist(), strict=True)),
            share_right={group: is_right[side].mean() for group, side in sides.items()},
        )
    texts = model.texts_at(np.arange(len(model.examples.ids)))
    return Classifiers(by_seed, "training", model.examples.ids, texts)


def test_recomputation_imports_nothing_of_exparity():
    for module in (recomputed, demo_scores):
        tree = ast.parse(Path(module.__file__).read_text("utf-8"))
        named = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
        words = {ast.unparse(node) for node in named}
        assert not [word for word in words if "exparity" in word]
        assert {"numpy", "scipy", "pandas"} & set(sys.modules)


def test_no_number_and_no_word_differs(rows, expected):
    assert [*demo_scores.differences(rows, expected)] == []
    # The steps of the stored numbers change no word of the experiment.
    words = pd.read_csv(demo_scores.WORDS).to_dict("records")
    names = [*demo_scores.KEYS, "verdict", "verdict_strict", "verdict_right"]
    assert [{name: row[name] for name in names} for row in rows] == words


def test_a_difference_is_shown(rows, expected):
    wrong = [{**row} for row in expected]
    wrong[0] |= {"d": wrong[0]["d"] + 1e-8}
    wrong[1] |= {"verdict": "unstable"}
    lines = [*demo_scores.differences(rows, wrong)]
    assert len(lines) == 2
    assert "verdict equivalent, not unstable" in lines[1]


def test_the_stored_scores_are_small_and_have_no_text():
    assert demo_scores.SCORES.stat().st_size < MOST_KIB * 1024
    table = pd.read_parquet(demo_scores.SCORES)
    texts = [name for name in table if table[name].dtype == object or table[name].dtype == "string"]
    assert set(texts) <= {"dataset", "group"}
