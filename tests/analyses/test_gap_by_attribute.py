"""Gaps in ranges of an attribute: a naive count, ends of ranges, what is refused, and the page."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from analyses.page import page_of
from made_up import Results
from support import tiny

from exparity import InputError
from exparity.analyses.gap_by_attribute import gap_by_attribute
from exparity.analyses.gap_by_attribute.section import findings, range_lines
from exparity.artefacts.files import read_artefact

GROUPS = ("male", "female")
LABELS = ["non_toxic", "toxic"]
EDGES = (0.5, 0.85, 0.95, 1.0)
SHARES = (0.51, 0.7, 0.85, 0.9, 0.95, 1.0)


def classifier(folder, seed=0, attribute="gender_agreement"):
    """Write data, predictions and those of counterfactuals; return them as rows."""
    rng = np.random.default_rng(seed)
    results = Results(folder, GROUPS)
    texts = []
    for i in range(240):
        example = {"example_id": f"e{i:03d}", "group": GROUPS[i % 2], "match_id": None}
        share = SHARES[i % len(SHARES)] if i % 7 else None
        pairs = [] if share is None else [{"key": attribute, "value": repr(share)}]
        text = {**example, "label": int(rng.integers(2)), "attributes": pairs, "share": share}
        texts.append({**text, "predicted": int(rng.integers(2)), "turned": int(rng.integers(2))})
    data = [
        {
            **{k: text[k] for k in ("example_id", "group", "match_id", "label", "attributes")},
            "split": "test",
            "text": "A text",
            "words": ["A", "text"],
            "rationale": None,
        }
        for text in texts
    ]
    made = results.write("data", data, "jigsaw", labels=LABELS)
    certain = np.eye(2).tolist()
    key = ("example_id", "group", "label")
    own = [
        {
            **{k: text[k] for k in (*key, "match_id", "predicted")},
            "probabilities": certain[text["predicted"]],
        }
        for text in texts
    ]
    predictions = results.write("predictions", own, "jigsaw", "bert", seed, labels=LABELS)
    changed = [
        {
            **{k: text[k] for k in key},
            "group_to": GROUPS[text["group"] == "male"],
            "predicted": text["turned"],
            "probabilities": certain[text["turned"]],
            "n_changed": 1,
        }
        for text in texts
    ]
    counterfactuals = results.write(
        "counterfactual_predictions", changed, "jigsaw", "bert", seed, labels=LABELS
    )
    return texts, made, predictions, counterfactuals


def in_range(text, low, high):
    share = text["share"]
    return share is not None and (low <= share < high or share == high == EDGES[-1])


@pytest.mark.reference
def test_gaps_are_those_of_the_texts_in_each_range(tmp_path):
    texts, data, predictions, counterfactuals = classifier(tmp_path)
    output = tmp_path / "gaps.parquet"
    options = {"attribute": "gender_agreement", "edges": EDGES}
    gap_by_attribute(data, [predictions], output, [counterfactuals], **options)
    rows = read_artefact(output, "gap_by_attribute")[0].to_pylist()
    values = {(row["low"], row["quantity"], row["class_name"]): row for row in rows}
    n_counted = 0
    for low, high in pairwise(EDGES):
        chosen = [text for text in texts if in_range(text, low, high)]
        n_counted += len(chosen)
        toxic = {g: [t["predicted"] for t in chosen if t["group"] == g] for g in GROUPS}
        statistical = np.mean(toxic["male"]) - np.mean(toxic["female"])
        row = values[low, "selection_rate_gap", "toxic"]
        assert row["value"] == pytest.approx(statistical)
        assert row["n"] == len(chosen)
        as_group = {
            g: [t["predicted"] if t["group"] == g else t["turned"] for t in chosen] for g in GROUPS
        }
        causal = np.mean(as_group["male"]) - np.mean(as_group["female"])
        assert values[low, "causal_selection_rate_gap", "toxic"]["value"] == pytest.approx(causal)
        assert row["ci_low"] < row["value"] < row["ci_high"]
    assert n_counted == sum(text["share"] is not None for text in texts)


def test_without_counterfactuals_only_statistical_gaps_are_left(tmp_path):
    _, data, predictions, _ = classifier(tmp_path)
    output = tmp_path / "gaps.parquet"
    gap_by_attribute(data, [predictions], output, None, attribute="gender_agreement", edges=EDGES)
    names = {r["quantity"] for r in read_artefact(output, "gap_by_attribute")[0].to_pylist()}
    assert {"accuracy", "selection_rate_gap", "tpr_gap", "fpr_gap"} <= names
    assert not any(name.startswith("causal") or name == "flip_rate" for name in names)


def test_what_is_no_range_or_no_number_is_refused(tmp_path):
    _, data, predictions, _ = classifier(tmp_path)
    output = tmp_path / "gaps.parquet"

    def measure(**options):
        gap_by_attribute(data, [predictions], output, None, **options)

    with pytest.raises(InputError, match=r"no test example has the attribute 'agreement' \(there"):
        measure(attribute="agreement", edges=EDGES)
    with pytest.raises(InputError, match=r"edges: \[1.0, 0.5\] are no ranges"):
        measure(attribute="gender_agreement", edges=(1.0, 0.5))
    settings = {"attribute": "template", "edges": [0, 1]}
    with pytest.raises(InputError, match=r"gap_by_attribute.datasets: no dataset 'pair_all' here"):
        tiny(analyses={"gap_by_attribute": {**settings, "datasets": ["pair_all"]}}).options(
            "gap_by_attribute", {"dataset": "pairs_all", "model": "bert_tiny"}
        )
    with pytest.raises(InputError, match=r"gap_by_attribute.edges: missing; give"):
        tiny(analyses={"gap_by_attribute": {"attribute": "template"}}).options(
            "gap_by_attribute", {"dataset": "pairs_all", "model": "bert_tiny"}
        )


def test_the_page_has_a_line_for_each_range(tmp_path):
    _, data, predictions, counterfactuals = classifier(tmp_path)
    output = tmp_path / "gaps.parquet"
    options = {"attribute": "gender_agreement", "edges": EDGES}
    gap_by_attribute(data, [predictions], output, [counterfactuals], **options)
    rows = read_artefact(output, "gap_by_attribute")[0].to_pylist()
    # As the report reads them, with what the metadata say of all.
    rows = [{**row, "dataset": "jigsaw", "model": "bert", "attribute": "gender"} for row in rows]
    study = SimpleNamespace(
        display=lambda kind, id: id, declared=lambda dataset: SimpleNamespace(classes=LABELS)
    )
    lines = range_lines(rows, study)
    assert [(line.low, line.high) for line in lines] == list(pairwise(EDGES))
    assert {(line.class_name, line.by) for line in lines} == {("toxic", "gender_agreement")}
    page = page_of("gap_by_attribute", findings(rows, study), study)
    assert page.count("<tr>") == 1 + 3
