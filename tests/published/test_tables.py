"""What the shipped tables hold, and the two findings on them that the docs report.

The tables are read here without exparity's own loading.
"""

import csv
from collections import Counter
from itertools import combinations, permutations

import pytest

from exparity.core.errors import InputError
from exparity.data import DATASETS
from exparity.methods import METHODS
from exparity.methods.integrated_gradients import MEAN_CENTRED
from exparity.metrics import METRICS
from exparity.models.catalogue import known_models
from exparity.published.study import load_study
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


def signs(columns, tables, a, b):
    """How the signs of d go together in two columns: opposite, same, or one has none."""
    found = Counter()
    for table in tables:
        for cell, (_, d) in columns[table, a].items():
            other = columns[table, b][cell][1]
            if not d or not other:
                found["none"] += 1
            else:
                found["same" if (d > 0) == (other > 0) else "opposite"] += 1
    return found


class TestSizes:
    def test_ids_are_exparitys(self, rows, study):
        assert {r["method"] for r in rows} <= set(METHODS.ids())
        assert {r["metric"] for r in rows} == set(METRIC_IDS) <= set(METRICS.ids())
        assert {"geco_all", "geco_subj"} <= set(DATASETS.ids())
        assert len(study.cells) == 4 * 5 * 6 * 7 + 2 * 2 * 6 * 7 == 1008


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

    def test_table_8_alone_decides_and_table_9_leaves_two(self, columns):
        fits = {"8": [], "9": []}
        for table, found in fits.items():
            differ = mismatches_of_all(columns, (table,))
            for order in permutations(METRIC_IDS):
                if not any(differ[pair] for pair in zip(METRIC_IDS, order, strict=True)):
                    found.append(dict(zip(METRIC_IDS, order, strict=True)))
        assert fits["8"] == [PRINTED]
        # On GECO-SUBJ every run with a soft metric is significant: counts cannot tell them apart.
        soft = PRINTED["soft_comprehensiveness"], PRINTED["soft_sufficiency"]
        swapped = {**PRINTED, "soft_comprehensiveness": soft[1], "soft_sufficiency": soft[0]}
        assert len(fits["9"]) == 2
        assert all(order in fits["9"] for order in (PRINTED, swapped))

    def test_tables_4_and_10_11_agree_as_printed(self, columns):
        assert sum(mismatches(columns, "4", ("10", "11"), m, m) for m in METRIC_IDS) == 0

    def test_only_then_do_the_soft_metrics_mirror_each_other(self, columns):
        soft = "soft_comprehensiveness", "soft_sufficiency"
        assert signs(columns, ("8", "9"), *soft) == {"opposite": 8, "same": 33, "none": 19}
        corrected = [PRINTED[name] for name in soft]
        assert signs(columns, ("8", "9"), *corrected) == {"opposite": 60}
        # as the tables whose labels agree have it
        assert signs(columns, ("10", "11"), *soft) == {"opposite": 36, "same": 1, "none": 23}

    def test_no_other_two_columns_mirror_each_other(self, columns):
        found = [
            set(pair)
            for pair in combinations(METRIC_IDS, 2)
            if signs(columns, ("8", "9"), *pair)["opposite"] == 60
        ]
        assert found == [{PRINTED["soft_comprehensiveness"], PRINTED["soft_sufficiency"]}]

    @pytest.mark.parametrize(
        ("metric", "significant", "considerable", "printed"),
        [("gini", 70, 53, (91, 86)), ("sparsity", 49, 42, (86, 51))],
    )
    def test_section_5_2_2_is_written_from_the_labels_of_table_3(
        self, columns, metric, significant, considerable, printed
    ):
        def shares(label):
            cells = [n for table in ("8", "9") for n in columns[table, label].values()]
            strong = [n for n, d in cells if d is not None and abs(d) >= 0.2]
            runs = 5 * len(cells)
            return round(100 * sum(n for n, _ in cells) / runs), round(100 * sum(strong) / runs)

        assert shares(PRINTED[metric]) == (significant, considerable)
        assert shares(metric) == printed

    def test_section_5_2_1_counts_the_soft_metrics_of_table_3(self, columns):
        """Over 95 % of the runs on GECO with a soft metric are significant."""

        def share(labels):
            counts = [n for t in ("8", "9") for m in labels for n, _ in columns[t, m].values()]
            return 100 * sum(counts) / (5 * len(counts))

        soft = "soft_comprehensiveness", "soft_sufficiency"
        assert share([PRINTED[m] for m in soft]) == pytest.approx(97.83, abs=0.01)
        assert share(soft) == pytest.approx(73.83, abs=0.01)

    def test_section_5_4_names_the_directions_of_the_corrected_columns(self, columns):
        """Male higher soft sufficiency and sparsity, female higher soft comprehensiveness."""

        def positive(label):
            cells = [d for table in ("8", "9") for _, d in columns[table, label].values() if d]
            return sum(d > 0 for d in cells), len(cells)

        assert positive(PRINTED["soft_sufficiency"]) == (54, 60)
        assert positive(PRINTED["sparsity"]) == (38, 41)
        assert positive(PRINTED["soft_comprehensiveness"]) == (6, 60)

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


class TestTotals:
    def test_the_tables_sum_to_less_than_the_text_says(self, rows):
        sums = Counter()
        runs = Counter()
        for r in rows:
            sums[r["table"]] += int(r["significant_runs"])
            runs[r["table"]] += int(r["total_runs"])
        assert {t: sums[t] for t in "345"} == {"3": 1739, "4": 1080, "5": 696}
        assert sums["8"] + sums["9"] == sums["3"]
        assert sums["10"] + sums["11"] == sums["4"]
        assert sum(sums[t] for t in "345") == 3515
        assert sum(runs[t] for t in "345") == 5040


class TestStatements:
    """What docs/published.md says of the statements of the text."""

    def of(self, study, **where):
        return [c for c in study.cells.values() if all(c.of(k) in ids for k, ids in where.items())]

    def share(self, cells, considerable=None):
        counted = [c for c in cells if considerable is None or c.considerable is considerable]
        return 100 * sum(c.significant for c in counted) / sum(c.runs for c in cells)

    def test_shares_of_the_printed_tables(self, study):
        geco = {"dataset": ("geco_all", "geco_subj"), "training": ("pretrained",)}
        soft = self.of(study, metric=("soft_comprehensiveness", "soft_sufficiency"), **geco)
        assert self.share(soft, considerable=True) == pytest.approx(89.7, abs=0.05)
        sensitivity = self.of(study, metric=("sensitivity",), **geco)
        assert self.share(sensitivity, considerable=True) == pytest.approx(86.3, abs=0.05)
        hard = self.of(
            study,
            dataset=("stereotypes",),
            metric=("comprehensiveness", "sufficiency"),
            training=("pretrained",),
        )
        assert self.share(hard) == pytest.approx(71.3, abs=0.05)
        scratch = {
            model: self.share(self.of(study, model=(model,)))
            for model in ("bert_scratch", "gpt2_scratch")
        }
        assert scratch == pytest.approx({"bert_scratch": 81.7, "gpt2_scratch": 84.0}, abs=0.05)

    def test_considerable_runs_are_a_range(self, study):
        cells = list(study.cells.values())
        low = sum(c.significant for c in cells if c.considerable)
        assert (low, low + sum(c.significant for c in cells if c.considerable is None)) == (
            2173,
            2869,
        )


class TestIntegratedGradients:
    """What docs/published.md says of a sixth of the grid."""

    def test_a_sixth_of_the_runs_is_of_gradients_that_are_not_multiplied(self, rows):
        sums, runs = Counter(), Counter()
        for r in rows:
            if r["method"] == "integrated_gradients":
                sums[r["table"]] += int(r["significant_runs"])
                runs[r["table"]] += int(r["total_runs"])
        assert {t: (sums[t], runs[t]) for t in "345"} == {
            "3": (252, 350), "4": (156, 350), "5": (115, 140)
        }  # fmt: skip
        assert (sum(sums[t] for t in "345"), 6 * sum(runs[t] for t in "345")) == (523, 5040)
        assert 3515 - 523 == 2992

    def test_every_model_of_the_study_has_a_sum_of_zero(self, rows):
        models = {r["model"] for r in rows}
        assert {known_models()[model].architecture for model in models} <= set(MEAN_CENTRED)


def test_an_unknown_study_is_refused():
    with pytest.raises(InputError, match=r"no published study 'dhaini'.*'dhaini2025'"):
        load_study("dhaini")
