"""Matching of our cells with the published ones."""

import pytest
from published.made_up import compare, row

from exparity.artefacts.grid import Grid
from exparity.core.settings import StudyStatistics

CELL = ("geco_all", "bert", "lime", "gini")


def ids(match, whose=""):
    return tuple(
        getattr(match, f"{whose}{kind}") for kind in ("dataset", "model", "method", "metric")
    )


class TestCells:
    def test_every_published_cell_finds_its_own(self, equal, study):
        assert [ids(m) for m in equal.matches] == [key[:4] for key in study.cells]
        assert all(ids(m, "our_") == ids(m) for m in equal.matches)
        assert equal.left_out == []
        assert all(a.agree == a.n > 0 for a in equal.agreements if a.question != "effect")

    def test_ours_is_counted_as_the_study_counts(self, equal):
        for match in equal.matches:
            assert match.significant_ours == match.significant_published
            assert match.total_ours == match.total_published
            if match.mean_d_published is not None:
                assert match.mean_d_ours == pytest.approx(match.mean_d_published)
                assert match.considerable_ours == match.considerable_published

    def test_what_was_not_published_is_named(self):
        rows = [
            row(CELL, 0, 0.01, 0.5),
            row(("pairs_all", *CELL[1:]), 0, 0.01, 0.5),
            row((CELL[0], "mine", *CELL[2:]), 0, 0.01, 0.5),
            row((*CELL[:3], "flip_sensitivity"), 0, 0.01, 0.5),
            row(("compas", "bert_scratch", *CELL[2:]), 0, 0.01, 0.5),
            row(("compas", *CELL[1:]), 0, 0.01, 0.5, group_a="African-American", group_b="male"),
        ]
        found = compare(rows)
        assert [ids(m) for m in found.matches] == [CELL]
        assert found.left_out == [
            "dataset pairs_all",
            "groups African-American and male",
            "metric flip_sensitivity",
            "model bert_scratch on compas, mine",
        ]

    def test_the_studys_alpha_and_threshold_hold(self):
        rows = [
            row(CELL, seed, p, 0.25, significant=False, considerable=False)
            for seed, p in enumerate((0.05, 0.04, 0.0500001, float("nan")))
        ]
        statistics = StudyStatistics(alpha=0.01, threshold=0.5)
        (match,) = compare(rows, Grid(statistics=statistics)).matches
        assert (match.significant_ours, match.total_ours) == (2, 4)
        assert match.considerable_ours

    def test_groups_in_the_other_order_change_the_sign(self):
        rows = [row(CELL, 0, 0.01, 0.7, group_a="female", group_b="male")]
        (match,) = compare(rows).matches
        assert (match.mean_d_ours, match.direction_ours) == (-0.7, -1)
        assert rows[0]["cohens_d"] == 0.7

    @pytest.mark.parametrize(
        ("methods", "found", "left_out"),
        [
            ({"lime_many": "lime"}, [("lime_many", "lime")], []),
            # Of several, the one with the id counts, if there is one.
            ({"lime": "lime", "lime_many": "lime"}, [("lime", "lime")], ["method lime_many"]),
            ({"few": "lime", "many": "lime"}, [], ["method few, many"]),
            # An id that uses something else is that.
            ({"lime": "shap"}, [("lime", "shap")], []),
        ],
    )
    def test_which_instance_counts_for_a_method(self, methods, found, left_out):
        rows = [row((*CELL[:2], method, CELL[3]), 0, 0.01, 0.5) for method in methods]
        made = compare(rows, Grid(methods=methods))
        assert [(m.our_method, m.method) for m in made.matches] == found
        assert made.left_out == left_out


def test_a_model_with_another_name():
    rows = [row((CELL[0], "small", *CELL[2:]), 0, 0.01, 0.5)]
    assert compare(rows).matches == []
    (match,) = compare(rows, models={"small": "gpt2_scratch"}).matches
    assert match.our_model == "small"
    assert ids(match) == (CELL[0], "gpt2_scratch", *CELL[2:])
    assert match.table == "5"
