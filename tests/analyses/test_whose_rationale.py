"""The analysis whose_rationale: planted raters, who mark the true words or others, and the page."""

import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from analyses.page import page_of
from made_up import Results
from support import tiny

from exparity.analyses.whose_rationale import whose_rationale
from exparity.analyses.whose_rationale.section import findings
from exparity.artefacts.files import read_artefact
from exparity.artefacts.grid import Grid
from exparity.core.errors import InputError
from exparity.quantities.raters import EVERY
from exparity.report.raters import rater_sentences
from exparity.tools.show import _of_raters

TEXTS, RATERS, WORDS = 60, 6, 12
GROUPS = (("old", "north"), ("old", "south"), ("young", "north"), ("young", "south"))
ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e]")
STATISTICS = {"alpha": 0.05, "threshold": 0.2, "confidence": 0.95, "family": ["dataset"]}


class Study(Results):
    """Texts of which four words are true, explanations that name them, and raters.

    ``true`` is the share of raters of each age who mark the true words; the others mark as many
    words at random. ``marked`` is the number of words that they mark, and ``explained`` the number
    of texts that have explanations.
    """

    def __init__(self, root, true, marked=(4, 4), collapsed=(), error=0.6, explained=TEXTS):
        super().__init__(root, ())
        rng = np.random.default_rng(0)
        ids = [f"t{i:02}" for i in range(TEXTS)]
        words = [f"w{i}" for i in range(WORDS)]
        keys = [{"example_id": name, "group": "", "match_id": None} for name in ids]
        text = {"split": "test", "text": " ".join(words), "words": words, "rationale": None}
        text |= {"attributes": [], "label": 0}
        self.data = self.write("data", [{**key, **text} for key in keys], "d", labels=["x", "y"])
        truth = [rng.permutation(WORDS) for _ in ids]
        self.raters = self.write("raters", [*self._marked(ids, truth, true, marked, rng)], "d")
        self.predictions, self.explanations = [], []
        labels = [0, 1] * (TEXTS // 2)
        for seed in range(2):
            predicted = [0] * TEXTS if seed in collapsed else labels
            place = ("d", "m", seed)
            self.predictions.append(self.write_predictions(keys, labels, predicted, *place))
            rows = []
            for key, order in zip(keys[:explained], truth[:explained], strict=True):
                scores = error * rng.random(WORDS)
                scores[order[:4]] += 0.5
                row = {"target": 0, "token_ids": [5] * WORDS, "tokens": words}
                rows.append(
                    {
                        "example_id": key["example_id"],
                        **row,
                        "word_ids": [*range(WORDS)],
                        "scores": scores.tolist(),
                    }
                )
            self.explanations.append(self.write("explanations", rows, *place, "gradient"))

    def _marked(self, ids, truth, true, marked, rng):
        for number, (age, place) in enumerate(GROUPS):
            for i, (name, order) in enumerate(zip(ids, truth, strict=True)):
                rater = i // (TEXTS // RATERS)
                is_old = int(age == "young")
                is_true = rater / RATERS < true[is_old]
                chosen = (order if is_true else rng.permutation(WORDS))[: marked[is_old]]
                marks = np.isin(np.arange(WORDS), chosen).astype(int).tolist()
                groups = [{"key": "age", "value": age}, {"key": "place", "value": place}]
                yield {
                    "example_id": name,
                    "rater": f"{number}-{rater}",
                    "groups": groups,
                    "rationale": marks,
                    "label": "x" if rater else "y",
                }

    def run(self, **options):
        outputs = [self.root / f"{name}.parquet" for name in ("tests", "levels", "scores")]
        inputs = self.data, self.raters, self.predictions, self.explanations
        whose_rationale(*inputs, *outputs, statistics=STATISTICS, **options)
        names = ("whose_rationale", "rater_levels", "rater_scores")
        return [read_artefact(*pair) for pair in zip(outputs, names, strict=True)]


def rows_of(table, **wanted):
    rows = table.to_pylist()
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def only(table, **wanted):
    (row,) = rows_of(table, **wanted)
    return row


def test_a_group_whose_raters_mark_the_true_words_is_agreed_with_more(tmp_path):
    (tests, facts), (levels, _), (scores, _) = Study(tmp_path, true=(1.0, 0.0)).run()
    age = only(tests, compared="age", quantity="skill")
    assert (age["group_a"], age["group_b"], age["verdict"]) == ("old", "young", "different")
    assert age["mean_b"] == pytest.approx(0, abs=0.1)
    assert age["estimate"] > 0.5
    place = only(tests, compared="place", quantity="skill")
    assert place["verdict"] != "different"
    assert len(rows_of(tests, compared="all groups", quantity="skill")) == 6
    assert {row["n_groups"] for row in rows_of(tests, compared="all groups")} == {4}
    assert (facts["n_texts"], facts["n_raters"]) == (TEXTS, len(GROUPS) * RATERS)
    young = only(levels, compared="age", rater_group="young")
    assert young["ci_low"] <= young["skill"] <= young["ci_high"]
    assert young["marked"] == pytest.approx(4 / WORDS)
    assert scores.num_rows == 2 * TEXTS * len(GROUPS)


def test_raters_and_texts_without_explanations_are_not_counted(tmp_path):
    (_, facts), *_ = Study(tmp_path, true=(0.5, 0.5), explained=2 * TEXTS // RATERS).run()
    assert (facts["n_texts"], facts["n_raters"]) == (2 * TEXTS // RATERS, 2 * len(GROUPS))


def test_random_raters_who_mark_more_have_a_higher_score_and_no_skill(tmp_path):
    (tests, _), (levels, _), _ = Study(tmp_path, true=(0.0, 0.0), marked=(3, 8)).run()
    old = only(levels, compared="age", rater_group="old")
    young = only(levels, compared="age", rater_group="young")
    assert young["score"] - old["score"] > 0.3
    assert young["score"] == pytest.approx(young["random"], abs=0.05)
    assert only(tests, compared="age", quantity="score")["p_mean"] <= 0.05
    for quantity in ("excess", "skill"):
        assert only(tests, compared="age", quantity=quantity)["p_mean"] > 0.05


def test_raters_with_another_label_are_left_out_or_taken_alone(tmp_path):
    study = Study(tmp_path, true=(0.5, 0.5))
    (_, every), *_ = study.run()
    (_, agreeing), *_ = study.run(agreeing=True)
    (_, others), *_ = study.run(agreeing=False)
    assert every["disagreeing"] == pytest.approx(1 / RATERS)
    counts = [facts["n_raters"] for facts in (every, agreeing, others)]
    assert counts == [24, 20, 4]


def test_a_training_that_predicts_one_class_is_left_out(tmp_path):
    (tests, _), *_ = Study(tmp_path, true=(1.0, 0.0), collapsed=(1,)).run()
    assert {row["n_seeds"] for row in tests.to_pylist()} == {1}
    (tests, _), *_ = Study(tmp_path, true=(1.0, 0.0), collapsed=(0, 1)).run()
    assert tests.num_rows == 0


def study_of(root):
    return SimpleNamespace(
        display=lambda kind, id: id,
        place=lambda dataset, model: dataset,
        path=lambda artefact, dataset: root / f"{artefact}.parquet",
        methods={"gradient": "gradient"},
        pairs=[("d", "m")],
        run="training",
    )


def page_study(tmp_path, **planted):
    study = Study(tmp_path, **planted)
    tables = study.run(agreeing=None)
    for name, file in (("whose_rationale", "tests"), ("rater_levels", "levels")):
        (tmp_path / f"{file}.parquet").rename(tmp_path / f"{name}.parquet")
    rows = tables[0][0].to_pylist()
    return rows, study_of(tmp_path)


def test_the_page_names_the_group_that_is_agreed_with_and_how_far(tmp_path):
    rows, study = page_study(tmp_path, true=(1.0, 0.0))
    (sentence,) = rater_sentences(rows, study)
    assert sentence.startswith("On d, explanations agree more with some raters than with others")
    assert "gradient with old (" in sentence
    page = page_of("whose_rationale", findings(rows, study), study)
    assert "24 raters of 60 texts" in page
    assert "17 % of their answers" in page
    assert "old &amp; north" in page


def test_the_page_names_the_model_that_predicts_one_class(tmp_path):
    rows, study = page_study(tmp_path, true=(0.5, 0.5))
    study.pairs = [("d", "m"), ("d", "constant")]
    study.place = "{}, {}".format
    page = page_of("whose_rationale", findings(rows, study), study)
    (named,) = re.findall(r"(\w+, \w+) is not compared: every training predicts one class", page)
    assert named == "d, constant"


def test_the_page_claims_no_more_than_what_would_have_been_found(tmp_path):
    rows, study = page_study(tmp_path, true=(0.5, 0.5))
    (sentence,) = rater_sentences(rows, study)
    assert "are not shown to agree with one group of raters more than with another" in sentence
    assert (
        "with so few trainings, texts and raters, hardly any gap would have been found" in sentence
    )
    powerful = [{**row, "minimal_detectable_effect_corrected": 0.5} for row in rows]
    contrasts = [row for row in rows if row["compared"] != EVERY and row["quantity"] == "skill"]
    largest = max(0.5 * row["pooled_sd"] for row in contrasts)
    (sentence,) = rater_sentences(powerful, study)
    assert f"gaps in skill of {largest:.2f} would have been found with 80 % power" in sentence


def test_names_of_groups_are_text_on_the_page(tmp_path, monkeypatch):
    name = "=cmd\x1b[31m\u202e</script>[bold]"
    groups = [(name if age == "old" else age, place) for age, place in GROUPS]
    monkeypatch.setattr(sys.modules[__name__], "GROUPS", groups)
    rows, study = page_study(tmp_path, true=(1.0, 0.0))
    page = page_of("whose_rationale", findings(rows, study), study)
    (sentence,) = rater_sentences(rows, study)
    assert "=cmd" in sentence
    assert "=cmd" in page
    assert "</script>" not in page
    assert not ACTING.search(page)


@pytest.mark.contract
class TestConfig:
    def test_data_without_raters_are_refused(self):
        with pytest.raises(InputError, match=r"analyses\.whose_rationale: no dataset has raters"):
            tiny(analyses={"whose_rationale": {}})

    def test_its_metrics_compare_with_a_rationale(self):
        data = {"marked": {"use": "fair_rationales", "verify": False}}
        asked = {"whose_rationale": {"metrics": ["gini"]}}
        with pytest.raises(InputError, match="metrics: gini compares with no rationale"):
            tiny(datasets=data, analyses=asked)

    def test_naming_it_changes_no_other_job(self):
        data = {"marked": {"use": "fair_rationales", "verify": False}}
        before = tiny(datasets=data)
        after = tiny(datasets=data, analyses={"whose_rationale": {}})
        added = {entry.id for entry in after.analyses} - {entry.id for entry in before.analyses}
        assert added == {"whose_rationale"}
        for name in ("raters", "bias"):
            ids = {"dataset": "marked", "model": "bert_tiny", "seed": 0}
            ids = {level: ids[level] for level in (("dataset",) if name == "raters" else ids)}
            assert before.options(name, ids) == after.options(name, ids)


@pytest.mark.parametrize(
    ("old", "printed"),
    [
        ("old", "Gradient with old ("),
        ("=cmd\x1b[31m\u202e</script>[bold]", r"Gradient with =cmd\x1b[31m\u202e</script>[bold] ("),
        ("\u05d6\u05e7\u05df\u200f", "Gradient with \u05d6\u05e7\u05df\u200f ("),
    ],
)
def test_the_terminal_prints_the_sentence(tmp_path, monkeypatch, old, printed):
    """Markup of the terminal is text there, and so are names that are written to the left."""
    groups = [(old if age == "old" else age, place) for age, place in GROUPS]
    monkeypatch.setattr(sys.modules[__name__], "GROUPS", groups)
    planted = Study(tmp_path, true=(1.0, 0.0))
    outputs = [planted.path(name, "d") for name in ("whose_rationale", "rater_levels")]
    for path in outputs:
        path.parent.mkdir()
    inputs = planted.data, planted.raters, planted.predictions, planted.explanations
    whose_rationale(*inputs, *outputs, tmp_path / "scores.parquet", statistics=STATISTICS)
    grid = Grid(
        pairs=[("d", "m")],
        seeds=[0, 1],
        methods={"gradient": "gradient"},
        metrics={"gini": "gini"},
        datasets={"d": "fair_rationales"},
        models={"m": None},
        analyses={"whose_rationale": [("d",)]},
    )
    (line,) = _of_raters(tmp_path, grid)
    assert printed in str(line)
    assert not line.spans
