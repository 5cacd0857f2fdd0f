"""Statements of the text, counted by the rules and by loops written apart."""

import csv
from dataclasses import replace
from types import SimpleNamespace

import pytest
from published.made_up import OPTIONS, rows_like

from exparity.core.errors import InputError
from exparity.published.claims import FAILS, HOLDS, holds
from exparity.published.comparison import compare_results
from exparity.published.expressions import SETTINGS, Counted, parse_counted, parse_ordering
from exparity.published.study import Part
from exparity.resources import resource

GECO = ("geco_all", "geco_subj")
HARD = ("comprehensiveness", "sufficiency")
SOFT = ("soft_comprehensiveness", "soft_sufficiency")


def by_id(comparison):
    """Every statement by its id; here each is on one number."""
    found = {}
    for result in comparison.claims:
        (part,), (tables,), (ours,) = result.claim.parts, result.tables, result.ours
        is_setting = part.counted.what in SETTINGS
        one = {"part": part, "is_setting": is_setting, "tables": tables, "ours": ours}
        found[result.claim.id] = SimpleNamespace(**vars(result) | one)
    return found


@pytest.fixture(scope="module")
def pretrained():
    """(dataset, model, method, metric, significant, considerable) of the pretrained models.

    Counts of Tables 3 and 4, effects of Tables 8 to 11, joined here with the corrected labels.
    """
    label = {
        "comprehensiveness": "comprehensiveness",
        "sufficiency": "sparsity",
        "soft_comprehensiveness": "sensitivity",
        "soft_sufficiency": "soft_comprehensiveness",
        "gini": "sufficiency",
        "sparsity": "soft_sufficiency",
        "sensitivity": "gini",
    }
    path = resource("published") / "dhaini2025_disparity.csv"
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    ids = ("dataset", "model", "method")
    effects = {
        (*(r[i] for i in ids), r["metric"]): r["effect_size_mean"]
        for r in rows
        if r["table"] in ("8", "9", "10", "11")
    }
    found = []
    for r in rows:
        if r["table"] in ("3", "4"):
            metric = label[r["metric"]] if r["table"] == "3" else r["metric"]
            d = effects[(*(r[i] for i in ids), metric)]
            n = int(r["significant_runs"])
            strong = n if d and abs(float(d)) >= 0.2 else 0
            found.append((*(r[i] for i in ids), r["metric"], n, strong))
    return found


def share(cells, datasets, metrics, column):
    chosen = [c for c in cells if c[0] in datasets and c[3] in metrics]
    return 100 * sum(c[column] for c in chosen) / (5 * len(chosen))


class TestRules:
    def test_they_are_those_of_the_descriptions_and_name_what_exists(self, equal, study):
        claims = by_id(equal)
        assert len(claims) == len(study.claims) == 40
        assert sum(one.is_setting for one in claims.values()) == 4
        for id, one in claims.items():
            text, counted = one.claim.description, one.part.counted
            assert (one.part.bound == "above") == ("lower bound" in text), id
            assert (one.part.bound == "below") == ("upper bound" in text), id
            if not one.is_setting and counted.what != "runs":
                assert (counted.what == "considerable") == ("considerable" in text), id
            for kind, allowed in counted.where.items():
                known = ("pretrained", "scratch") if kind == "training" else study.names(kind)
                assert allowed, id
                assert set(allowed) <= set(known), id

    @pytest.mark.parametrize(
        "expression",
        ["", "seed", "significant", "significant(gini)", "significant(metric='gini')",
         "significant(colour=red)", "smallest(model)", "smallest(p, runs())", "runs() + runs()",
         "__import__(os)", "runs(**where)", "significant("],
    )  # fmt: skip
    def test_what_is_no_expression_is_refused(self, expression):
        with pytest.raises(InputError, match="says nothing that can be counted"):
            parse_counted(expression, {})


class TestFromTheTables:
    @pytest.mark.parametrize(
        ("claim", "datasets", "metrics", "column"),
        [
            ("geco_soft_significant", GECO, SOFT, 4),
            ("geco_soft_considerable", GECO, SOFT, 5),
            ("geco_subj_soft_significant", ("geco_subj",), SOFT, 4),
            ("compas_soft_significant", ("compas",), SOFT, 4),
            ("stereotypes_soft_significant", ("stereotypes",), SOFT, 4),
            ("compas_hard_significant", ("compas",), HARD, 4),
            ("stereotypes_hard_significant", ("stereotypes",), HARD, 4),
            ("geco_sensitivity_considerable", GECO, ("sensitivity",), 5),
            ("compas_sensitivity_considerable", ("compas",), ("sensitivity",), 5),
            ("stereotypes_sensitivity_considerable", ("stereotypes",), ("sensitivity",), 5),
            *(
                (f"{name}_{metric}_{kind}", datasets, (metric,), column)
                for name, datasets in (
                    ("geco", GECO),
                    ("compas", ("compas",)),
                    ("stereotypes", ("stereotypes",)),
                )
                for metric in ("gini", "sparsity")
                for kind, column in (("significant", 4), ("considerable", 5))
            ),
        ],
    )
    def test_shares(self, equal, pretrained, claim, datasets, metrics, column):
        low, high = by_id(equal)[claim].tables
        assert low == high == pytest.approx(share(pretrained, datasets, metrics, column))

    def test_what_holds_and_what_does_not(self, equal):
        found = by_id(equal)
        wrong = {id for id, result in found.items() if result.verdict == FAILS}
        assert wrong == {
            "total_significant",
            "total_significant_share",
            "geco_soft_considerable",
            "stereotypes_hard_significant",
            "geco_sparsity_significant",
            "geco_sensitivity_considerable",
        }
        # Table 5 prints no effect sizes, so that every count of effects over all is a range.
        unsettled = {id for id, result in found.items() if not result.verdict}
        assert unsettled == {
            "sig_p_threshold",
            "effect_threshold",
            "scratch_epochs",
            "total_considerable",
            "total_considerable_share",
            *(id for id in found if id.startswith("method_considerable")),
        }


class TestFromOurs:
    def test_equal_rows_give_what_the_tables_give(self, equal):
        for result in by_id(equal).values():
            if result.tables is None or result.is_setting:
                continue
            _, high = result.tables
            # The made-up effects of Table 5 are considerable: the upper end.
            assert result.ours == pytest.approx((high, high))
            assert result.comparable == "yes"
            assert result.note == ""
            assert result.rows == 5 * result.cells
            assert result.cells == result.cells_covered

    def test_from_scratch_only(self, tmp_path, study):
        rows = [r for c in study.cells.values() if c.training == "scratch" for r in rows_like(c)]
        found = by_id(compare_results(tmp_path, rows, OPTIONS))
        claim = found["scratch_significant"]
        assert claim.ours == pytest.approx((100 * 343 / 420,) * 2)
        assert (claim.rows, claim.cells, claim.cells_covered) == (840, 168, 168)
        assert (claim.comparable, claim.our_verdict) == ("yes", HOLDS)
        claim = found["total_significant"]
        assert claim.ours == (696, 696)
        assert claim.comparable == "in part"
        assert claim.note == "168 of 1008 cells; 840 runs, published 5,040"
        claim = found["geco_soft_significant"]
        assert (claim.ours, claim.rows, claim.comparable) == (None, 0, "no")
        assert claim.note == "no test of ours on these cells"

    def test_other_numbers_of_seeds(self, tmp_path, study):
        """Shares stay comparable, counts do not."""
        rows = [
            r for c in study.cells.values() for r in rows_like(replace(c, significant=1, runs=2))
        ]
        found = by_id(compare_results(tmp_path, rows, OPTIONS))
        assert found["runs_per_cell"].ours == (2, 2)
        assert found["runs_per_cell"].our_verdict == FAILS
        assert found["total_significant_share"].ours == (50, 50)
        assert found["total_significant_share"].comparable == "yes"
        assert found["total_significant"].note == "2,016 runs, published 5,040"

    def test_effects_count_by_the_mean_of_their_cell(self, tmp_path, study):
        """Of three significant seeds with d of 0.5, 0.1 and −0.1 the mean is below 0.2."""
        cell = next(
            c for c in study.cells.values() if (c.key.dataset, c.key.metric) == ("compas", "gini")
        )
        rows = rows_like(replace(cell, significant=3))
        for r, d in zip(rows, (0.5, 0.1, -0.1, 2.0, 2.0), strict=True):
            r["cohens_d"] = d
        found = by_id(compare_results(tmp_path, rows, OPTIONS))
        assert found["compas_gini_significant"].ours == (60, 60)
        assert found["compas_gini_considerable"].ours == (0, 0)
        rows[1]["cohens_d"] = 0.3  # mean 0.233: now all three count
        found = by_id(compare_results(tmp_path, rows, OPTIONS))
        assert found["compas_gini_considerable"].ours == (60, 60)

    def test_settings(self, tmp_path, study):
        cell = next(iter(study.cells.values()))
        options = {"statistics": {"alpha": 0.01, "threshold": 0.2}}
        found = by_id(compare_results(tmp_path, rows_like(cell), options))
        claim = found["sig_p_threshold"]
        assert (claim.ours, claim.our_verdict) == ((0.01, 0.01), FAILS)
        assert found["effect_threshold"].our_verdict == HOLDS
        found = by_id(compare_results(tmp_path, rows_like(cell), {}))
        assert (found["sig_p_threshold"].ours, found["sig_p_threshold"].note) == (
            None,
            "not recorded",
        )


@pytest.mark.parametrize(
    ("printed", "value", "bound", "expected"),
    [
        ("85", (84.5, 84.5), "is", True),
        ("85", (84.49, 84.49), "is", False),
        ("49.5", (49.46, 49.46), "is", True),
        ("49.5", (49.33, 49.33), "is", False),
        ("60", (47.0, 61.0), "is", None),
        ("60", (47.0, 59.0), "is", False),
        ("95", (95.0, 95.0), "above", False),
        ("95", (95.1, 95.1), "above", True),
        ("49", (36.0, 50.0), "above", None),
        ("40", (39.9, 39.9), "below", True),
        ("40", (40.0, 40.0), "below", False),
        ("40", (39.0, 41.0), "below", None),
        ("40", None, "is", None),
    ],
)
def test_whether_a_statement_holds(printed, value, bound, expected):
    part = Part(Counted("runs"), "runs()", printed, printed, bound)
    assert holds(part, value) is expected


class TestOrderings:
    VALUES = {"a": 0.3, "b": 0.3, "c": 0.2}  # noqa: RUF012

    @pytest.mark.parametrize(
        ("expression", "holds"),
        [
            ("{a, b} > {c}", True),
            ("{a, b} > rest", True),
            ("{a} > rest", False),
            ("{a} >= rest", True),
            ("rest >= {c}", True),
            ("rest >= {a}", False),
        ],
    )
    def test_by_hand(self, expression, holds):
        assert parse_ordering(expression).holds(self.VALUES) is holds

    @pytest.mark.parametrize("expression", ["{a}", "{a} < {b}", "{a} > {b} > {c}"])
    def test_what_orders_nothing_is_refused(self, expression):
        with pytest.raises(ValueError, match="orders nothing"):
            parse_ordering(expression)
