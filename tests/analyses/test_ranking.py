"""The analysis ranking: which method is better, by group, and what the page says of it."""

from types import SimpleNamespace

import numpy as np
import pytest
from analyses.page import page_of
from made_up import Results

from exparity.analyses.ranking import rank_methods
from exparity.analyses.ranking.section import findings
from exparity.artefacts.files import read_artefact
from exparity.methods.facts import RANDOM
from exparity.metrics import METRICS

GROUPS = ("female", "male")
TEXTS = 60
SEEDS = range(4)
LEVELS = {"one": (0.5, 0.5), "two": (0.4, 0.6), "three": (0.1, 0.1)}
"""Mean score of each method for each group."""


class Study(Results):
    """Scores of three methods, and of random explanations at 0.1."""

    def __init__(self, root, levels=LEVELS, metric="comprehensiveness", collapsed=()):
        super().__init__(root, GROUPS)
        rng = np.random.default_rng(0)
        keys = [
            {"example_id": f"{i}", "group": GROUPS[i % 2], "match_id": None} for i in range(TEXTS)
        ]
        labels = [i % 2 for i in range(TEXTS)]
        self.metric = metric
        self.predictions, self.scores, self.random = [], [], []
        for seed in SEEDS:
            difficulty = 0.3 * rng.normal(size=TEXTS)
            predicted = [0] * TEXTS if seed in collapsed else labels
            place = ("d", "m", seed)
            self.predictions.append(self.write_predictions(keys, labels, predicted, *place))
            used = {"parameters": {"use": metric, "params": {}}}
            for method, means in levels.items():
                mean = np.array([means[i % 2] for i in range(TEXTS)])
                values = mean + difficulty + 0.05 * rng.normal(size=TEXTS)
                self.scores.append(self.write_scores(keys, values, *place, method, metric, **used))
            drawn = 0.1 + difficulty + 0.05 * rng.normal(size=(3, TEXTS))
            self.random.append(self.write_scores(keys, drawn, *place, metric, **used))

    def run(self, random=True):
        output = self.root / "ranking.parquet"
        rank_methods(self.predictions, self.scores, self.random if random else None, output)
        return read_artefact(output, "ranking")[0].to_pylist()


def shown(rows, metric="comprehensiveness"):
    """Return the section of some rows."""
    study = SimpleNamespace(
        display=lambda kind, id: id,
        name=lambda kind, id: f"{id} ↑",
        measure=lambda id: f"what {id} measures",
        metrics=[metric],
        methods=list(LEVELS),
        metric_facts=lambda id: METRICS.get(id).facts,
        declared=lambda dataset: SimpleNamespace(groups=GROUPS),
        statistics=SimpleNamespace(alpha=0.05),
        run="training",
        pairs=[("d", "m")],
    )
    return page_of("ranking", findings(rows, study), study)


def better(rows):
    return {(r["group"], r["method_a"], r["method_b"]): r["better"] for r in rows}


def test_planted_orders_of_methods_are_found_by_group(tmp_path):
    rows = Study(tmp_path).run()
    found = better(rows)
    assert len(rows) == 3 * 6  # all texts and two groups, pairs of three methods and random ones
    assert found["female", "one", "two"] == "one"
    assert found["male", "one", "two"] == "two"
    assert found["", "one", "two"] == ""
    assert found["", "one", "three"] == "one"
    assert found["", "three", RANDOM] == ""
    differences = [
        r["difference"] for r in rows if (r["group"], r["method_b"]) == ("female", "two")
    ]
    assert differences == pytest.approx([0.1], abs=0.02)


def test_the_page_says_for_whom_each_method_is_best(tmp_path):
    page = shown(Study(tmp_path).run())
    assert "For female texts, one is best. For male texts, two is best." in page
    assert "one serves the worst-off group best." in page
    assert "three is not shown to be better than random explanations." in page


def test_the_page_names_a_method_that_is_best_for_everybody(tmp_path):
    levels = {"one": (0.5, 0.5), "two": (0.4, 0.3), "three": (0.1, 0.1)}
    assert "one is best for female and male texts." in shown(
        Study(tmp_path, levels).run(random=False)
    )


def test_a_method_that_another_equals_for_one_group_is_not_called_the_best_for_it(tmp_path):
    levels = {"one": (0.5, 0.5), "two": (0.5, 0.3), "three": (0.1, 0.1)}
    assert (
        "one is best for male texts; for female texts, no method is shown to be better."
        in shown(Study(tmp_path, levels).run(random=False))
    )


def test_the_page_says_that_methods_do_not_differ(tmp_path):
    rows = Study(tmp_path, dict.fromkeys(LEVELS, (0.5, 0.5))).run(random=False)
    assert "No method is shown to be better than another." in shown(rows)


def test_of_a_description_no_method_is_better(tmp_path):
    assert Study(tmp_path, metric="gini").run() == []


def test_classifiers_of_one_class_are_left_out(tmp_path):
    rows = Study(tmp_path / "some", collapsed=(1,)).run()
    assert {row["n_seeds"] for row in rows} == {3}
    assert Study(tmp_path / "all", collapsed=SEEDS).run() == []
