"""Gaps of classes by model and share of a group: their counterparts, signs, and the figure."""

from types import SimpleNamespace

import pytest
from made_up import Results
from published.test_gaps import classifier

from exparity.published.gaps import compare_gaps
from exparity.published.study import load_study
from exparity.report import figures
from exparity.report.bias import RATES
from exparity.report.class_gaps import class_gaps
from exparity.report.failures import Failures
from exparity.report.figures import write_figures
from exparity.report.figures.class_gaps import class_gaps_figure
from exparity.report.figures.style import FORMATS, WIDTHS, house_style
from exparity.report.rows import ClassifierBias

OCCUPATIONS = ("nurse", "surgeon")
ORDERS = [("male", "female"), ("female", "male")]
PUBLISHED = {
    (key.method, key.metric, key.class_name): value.mean
    for key, value in load_study("chen2024").values.items()
    if key.model == "albert_large" and key.class_name
}


def study_of(folder, order=("male", "female")):
    """Two trainings of ALBERT without debiasing and one with CDA; 3 of 4 nurses are women."""
    sign = 1 if order[0] == "female" else -1
    rows = [
        (f"{kind}{rate}_gap", name, sign * (0.1 + 0.1 * (name == "nurse")))
        for rate in RATES
        for kind in ("", "causal_")
        for name in OCCUPATIONS
    ]
    rows.append(("flip_rate", "", 0.1))
    bias = []
    for model, seed, recipe in (("bert", 0, ""), ("bert", 1, ""), ("bert_cda", 0, "cda")):
        shifted = [(quantity, name, value + 0.02 * seed) for quantity, name, value in rows]
        classifier(folder, "bios", model, seed, recipe, shifted, order)
        ids = {"dataset": "bios", "model": model, "seed": seed}
        bias += [
            ClassifierBias(quantity, *order, name, value, 1, **ids)
            for quantity, name, value in shifted
        ]
    trained = [(0, "female")] * 3 + [(0, "male")] + [(1, "male")] * 2
    data = [
        {"example_id": f"e{i}", "split": split, "label": label, "group": group, "text": "a b"}
        | {"words": ["a", "b"], "match_id": None, "rationale": None, "attributes": []}
        for i, (split, (label, group)) in enumerate(
            [*(("train", cell) for cell in trained), ("test", (1, "female"))]
        )
    ]
    path = Results(folder, order).write("data", data, "bios", labels=list(OCCUPATIONS))
    return SimpleNamespace(
        bias=bias,
        path=lambda artefact, **ids: path,
        declared=lambda dataset: SimpleNamespace(classes=OCCUPATIONS),
        display=lambda kind, id: id,
        name=lambda kind, id: id,
        models={},
        judged=(),
        statistics={"threshold": 0.2},
    )


@pytest.mark.parametrize("order", ORDERS)
def test_each_class_is_beside_the_published_one_with_our_sign(tmp_path, order):
    study = study_of(tmp_path, order)
    comparison = compare_gaps(
        tmp_path, "chen2024", {"bert": "albert_large", "bert_cda": "albert_large"}
    )
    gaps = class_gaps(study, {"gaps": comparison})
    assert len(gaps) == 2 * len(OCCUPATIONS) * len(RATES)
    sign = 1 if order[0] == "female" else -1
    by_ids = {(gap.model, gap.class_name, gap.rate): gap for gap in gaps}
    for model, method in (("bert", "normal"), ("bert_cda", "cda")):
        gap = by_ids[model, "nurse", "tpr"]
        assert gap.statistical == pytest.approx(sign * 0.2 + 0.01 * (model == "bert"))
        assert gap.published_statistical == sign * PUBLISHED[method, "sg_tpr", "nurse"]
        assert gap.published_causal == sign * PUBLISHED[method, "cg_tpr", "nurse"]
    assert by_ids["bert", "nurse", "selection_rate"].published_statistical is None
    # The mixed column of causal false positive rates is not drawn as if it were ours.
    assert by_ids["bert", "nurse", "fpr"].published_causal is None
    women = [gap.share if order[0] == "female" else 1 - gap.share for gap in gaps]
    assert {(g.class_name, w) for g, w in zip(gaps, women, strict=True)} == {
        ("nurse", 0.75),
        ("surgeon", 0.0),  # tests are not counted
    }


@pytest.mark.parametrize("width", WIDTHS.values())
def test_the_figure_has_a_mark_for_each_class_ours_and_published(tmp_path, width):
    study = study_of(tmp_path)
    comparison = compare_gaps(
        tmp_path, "chen2024", {"bert": "albert_large", "bert_cda": "albert_large"}
    )
    gaps = [gap for gap in class_gaps(study, {"gaps": comparison}) if gap.rate == "tpr"]
    with house_style():
        figure = class_gaps_figure(gaps, width, study.name)
    by_model, against, by_share = figure.axes
    marks = {
        shape: [len(line.get_xdata()) for line in axes.get_lines() if line.get_marker() == shape]
        for axes in (against,)
        for shape in ("o", "x")
    }
    assert marks == {"o": [4], "x": [4]}  # two models, two classes
    shares = {tuple(line.get_xdata()) for line in by_share.get_lines() if line.get_marker() == "o"}
    assert shares == {(0.25, 1.0, 0.25, 1.0)}
    assert [tick.get_text() for tick in by_model.get_xticklabels()] == ["bert", "bert_cda"]


def test_figures_are_written_for_every_rate_and_only_with_counterfactuals(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "WIDTHS", {"1col": WIDTHS["1col"]})
    monkeypatch.delitem(FORMATS, "pdf")  # both widths and formats are in test_figures.py
    study = study_of(tmp_path)
    folder = tmp_path / "figures"
    folder.mkdir()
    drawn = write_figures(study, [], folder, Failures(), class_gaps(study, {}))
    assert drawn == [f"class_gaps-bios-male-female-{rate}" for rate in RATES]
    first = {path.name: path.read_bytes() for path in folder.iterdir()}
    write_figures(study, [], folder, Failures(), class_gaps(study, {}))
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == first
    study.bias = [row for row in study.bias if row.quantity != "flip_rate"]
    assert class_gaps(study, {}) == []
