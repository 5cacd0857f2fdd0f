"""The analysis remedies: a method that is poor for one group alone, and what the page says."""

from types import SimpleNamespace

import numpy as np
import pytest
from analyses.page import page_of
from made_up import Results

from exparity.analyses.remedies import find_remedies
from exparity.analyses.remedies.section import findings
from exparity.artefacts.files import read_artefact
from exparity.metrics import METRICS
from exparity.report.conclusions.advice import next_steps
from exparity.report.remedies import remedy_sentences

GROUPS = ("female", "male")
TEXTS = 80
SEEDS = range(4)
POOR = {"gradient": (0.2, 0.5), "lime": (0.5, 0.5), "shap": (0.48, 0.5)}
"""Mean score of each method for each group."""
ALIKE = dict.fromkeys(POOR, (0.5, 0.5))


class Study(Results):
    """Scores of three methods, of matched texts, and of random explanations."""

    def __init__(self, root, levels=POOR, metric="forward_simulation", collapsed=()):
        super().__init__(root, GROUPS)
        rng = np.random.default_rng(0)
        keys = [
            {"example_id": f"{i:02}", "group": GROUPS[i % 2], "match_id": f"s{i // 2}"}
            for i in range(TEXTS)
        ]
        labels = [i // 2 % 2 for i in range(TEXTS)]
        self.predictions, self.scores, self.random = [], [], []
        for seed in SEEDS:
            predicted = [0] * TEXTS if seed in collapsed else labels
            place = ("d", "m", seed)
            self.predictions.append(self.write_predictions(keys, labels, predicted, *place))
            facts = METRICS.get(metric).facts.compared_by
            used = {"parameters": {"use": metric, "params": {}}, "skill": facts}
            for method, means in levels.items():
                mean = np.array([means[i % 2] for i in range(TEXTS)])
                values = mean + 0.15 * rng.normal(size=TEXTS)
                self.scores.append(self.write_scores(keys, values, *place, method, metric, **used))
            drawn = 0.1 * rng.normal(size=(3, TEXTS))
            self.random.append(self.write_scores(keys, drawn, *place, metric, **used))

    def run(self):
        output = self.root / "remedies.parquet"
        find_remedies(self.predictions, self.scores, self.random, output)
        return read_artefact(output, "remedies")[0].to_pylist()


def study_of(metric="forward_simulation"):
    return SimpleNamespace(
        display=lambda kind, id: id,
        name=lambda kind, id: f"{id} ↑",
        place=lambda dataset, model: dataset,
        metrics=[metric],
        methods={name: name for name in POOR},
        statistics=SimpleNamespace(alpha=0.05),
        pairs=[("d", "m")],
    )


def test_the_method_that_is_poor_for_one_group_is_replaced_for_it(tmp_path):
    rows = Study(tmp_path).run()
    (helps,) = [row for row in rows if row["helps"]]
    assert (helps["method"], helps["group"], helps["other_group"]) == ("gradient", "female", "male")
    assert helps["replacement"] in ("lime", "shap")
    assert (helps["quantity"], helps["metric_kind"]) == ("score", "simulatability")
    assert helps["n_texts"] == TEXTS // 4
    assert helps["level"] == pytest.approx(0.2, abs=0.1)
    assert helps["level_after"] == pytest.approx(0.5, abs=0.1)
    assert helps["ci_low"] < helps["gain"] < helps["ci_high"]
    assert abs(helps["gap_after"]) < helps["gap"] / 2


def test_alike_groups_have_no_remedy(tmp_path):
    assert not any(row["helps"] for row in Study(tmp_path, ALIKE).run())


@pytest.mark.parametrize(
    ("metric", "quantity"), [("comprehensiveness", "excess"), ("sufficiency", "excess")]
)
def test_other_metrics_are_compared_as_they_stand(tmp_path, metric, quantity):
    sign = 1 if metric == "comprehensiveness" else -1
    levels = {name: tuple(sign * np.array(own)) for name, own in POOR.items()}
    rows = Study(tmp_path, levels, metric).run()
    (helps,) = [row for row in rows if row["helps"]]
    assert (helps["method"], helps["group"], helps["quantity"]) == ("gradient", "female", quantity)
    assert helps["gain"] > 0


def test_descriptions_and_classifiers_of_one_class_are_left_out(tmp_path):
    assert Study(tmp_path / "gini", metric="gini").run() == []
    assert Study(tmp_path / "all", collapsed=SEEDS).run() == []
    assert {row["n_seeds"] for row in Study(tmp_path / "some", collapsed=(1,)).run()} == {3}


def test_the_page_says_what_to_do_and_for_whom(tmp_path):
    rows = Study(tmp_path).run()
    study = study_of()
    page = page_of("remedies", findings(rows, study), study)
    (sentence,) = remedy_sentences(rows, study)
    assert sentence in " ".join(page.split())
    assert sentence.startswith("On d, explain female texts with ")
    assert " instead of gradient: 0.1" in sentence or " instead of gradient: 0.2" in sentence
    assert sentence.endswith("on the half of the texts that did not choose it; nobody loses.")


def test_the_page_says_that_nothing_helps(tmp_path):
    rows = Study(tmp_path, ALIKE).run()
    study = study_of()
    assert "No other method is shown to help" in page_of("remedies", findings(rows, study), study)
    assert remedy_sentences(rows, study) == []


def test_a_part_of_the_grid_shows_its_own_methods(tmp_path):
    rows = Study(tmp_path).run()
    study = study_of()
    study.methods = {"gradient": "gradient"}
    assert findings(rows, study) is None


def test_the_remedy_is_among_the_next_steps():
    study = SimpleNamespace(
        standing=[], accuracies=[], bias=[], judged=[], verdicts={}, models={}, dependence={},
        pairs=[], statistics=SimpleNamespace(threshold=0.2),
    )  # fmt: skip
    found = {"sentences": ["On d, explain female texts with lime instead of gradient."]}
    context = SimpleNamespace(study=study, origins=[], found_by=lambda analysis: found)
    assert next_steps(context).text.startswith("On d, explain female texts with lime instead")
