"""Content of the shipped tables, and the findings on them that the docs report.

The tables are read here without exparity's own loading.
"""

import csv
from itertools import permutations

import pytest

from exparity.resources import resource

METRIC_IDS = (
    "comprehensiveness", "sufficiency", "soft_comprehensiveness", "soft_sufficiency", "gini",
    "sparsity", "sensitivity",
)  # fmt: skip
# Table 3's label: the label under which Tables 8 and 9 print the same column.
PRINTED = {
    "comprehensiveness": "comprehensiveness",
    "sufficiency": "sparsity",
    "soft_comprehensiveness": "sensitivity",
    "soft_sufficiency": "soft_comprehensiveness",
    "gini": "sufficiency",
    "sparsity": "soft_sufficiency",
    "sensitivity": "gini",
}


def read(name):
    with (resource("published") / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def rows():
    return read("dhaini2025_disparity.csv")


@pytest.fixture(scope="module")
def columns(rows):
    """By table and metric as printed: (dataset, model, method) to (count, d or None)."""
    found = {}
    for r in rows:
        cell = r["dataset"], r["model"], r["method"]
        d = float(r["effect_size_mean"]) if r["effect_size_mean"] else None
        column = found.setdefault((r["table"], r["metric"]), {})
        column[cell] = int(r["significant_runs"]), d
    return found


def mismatches(columns, counts, effects, label, printed):
    """Cells in which a column of a count table differs from one of the effect tables."""
    here = columns[counts, label]
    there = {cell: n for table in effects for cell, n in columns[table, printed].items()}
    return sum(here[cell][0] != there[cell][0] for cell in here if cell in there)


def mismatches_of_all(columns, tables):
    """Cells in which any column of Table 3 differs from any column of effect tables."""
    return {(a, b): mismatches(columns, "3", tables, a, b) for a in METRIC_IDS for b in METRIC_IDS}


class TestLabels:
    """The heads of Tables 8 and 9 contradict the head of Table 3."""

    def test_one_permutation_of_all_makes_every_count_agree(self, columns):
        differ = mismatches_of_all(columns, ("8", "9"))
        found = {
            order: sum(differ[pair] for pair in zip(METRIC_IDS, order, strict=True))
            for order in permutations(METRIC_IDS)
        }
        assert len(found) == 5040
        assert found[METRIC_IDS] == 200  # of 420, as printed
        assert [order for order, n in found.items() if n == 0] == [tuple(PRINTED.values())]
        assert sorted(found.values())[1] == 6

    def test_the_shipped_mapping_is_this_one(self):
        rows = read("dhaini2025_labels.csv")
        for table in ("8", "9"):
            found = {r["metric"]: r["printed"] for r in rows if r["table"] == table}
            assert found == PRINTED
        assert len(rows) == 14

    def test_loading_moves_effects_to_the_labels_of_the_counts(self, columns, study):
        for cell in study.cells.values():
            key = cell.key.dataset, cell.key.model.removesuffix("_scratch"), cell.key.method
            count, _ = columns[cell.table, cell.key.metric][key]
            assert (cell.significant, cell.runs) == (count, 5)
            if cell.table == "5":
                assert (cell.mean, cell.effect_table, cell.effect_label) == (None,) * 3
                assert cell.considerable is (None if count else False)
                continue
            label = PRINTED[cell.key.metric] if cell.table == "3" else cell.key.metric
            table = {"geco_all": "8", "geco_subj": "9", "compas": "10", "stereotypes": "11"}
            assert (cell.effect_table, cell.effect_label) == (table[cell.key.dataset], label)
            assert (count, cell.mean) == columns[cell.effect_table, label][key]
            assert cell.considerable == (cell.mean is not None and abs(cell.mean) >= 0.2)


@pytest.mark.parametrize(
    ("of", "runs", "significant", "considerable"),
    [
        (("geco", "soft_"), 600, 587, 538),
        (("geco", "sensitivity"), 300, 274, 259),
        (("geco", "sparsity"), 300, 148, 126),
        (("geco", "gini"), 300, 211, 159),
        (("stereotypes", ("comprehensiveness", "sufficiency")), 300, 214, None),
        (("bert_scratch",), 420, 343, None),
        (("gpt2_scratch",), 420, 353, None),
    ],
)
def test_counts_of_the_statements(study, of, runs, significant, considerable):
    """Those of a dataset are of the pretrained models."""
    ids = [(c, f"{c.key.dataset} {c.key.model}") for c in study.cells.values()]
    if len(of) == 1:
        cells = [c for c, _ in ids if c.key.model == of[0]]
    else:
        pretrained = [c for c, id in ids if id.startswith(of[0]) and not id.endswith("_scratch")]
        cells = [c for c in pretrained if c.key.metric.startswith(of[1])]
    assert sum(c.runs for c in cells) == runs
    assert sum(c.significant for c in cells) == significant
    if considerable is not None:
        assert sum(c.significant for c in cells if c.considerable) == considerable


def test_considerable_runs_are_a_range(study):
    runs = {kind: 0 for kind in (True, False, None)}
    for cell in study.cells.values():
        runs[cell.considerable] += cell.significant
    assert (runs[True], runs[True] + runs[None]) == (2173, 2869)


@pytest.mark.parametrize(
    ("terms", "metric", "favoured"),
    [
        ("female", "sg_tpr", 11),
        ("female", "cg_tpr", 16),
        ("male", "sg_tpr", 17),
        ("male", "cg_tpr", 12),
    ],
)
def test_more_weight_on_one_groups_words_widens_the_gaps_against_it(terms, metric, favoured):
    """Chen et al. 2024, appendix H.1, on the shipped numbers of figure 12; female minus male."""
    gaps = {
        (row["occupation"], row["weight"]): float(row["value"])
        for row in read("chen2024_fig3_fig12_bow_probe.csv")
        if (row["scaled_terms"], row["metric"]) == (terms, metric)
    }
    sign = -1 if terms == "female" else 1
    others = [name for name, weight in gaps if weight == "1" and sign * gaps[name, weight] > 0]
    assert len(others) == favoured
    assert all(sign * (gaps[name, "5"] - gaps[name, "1"]) > 0 for name in others)
