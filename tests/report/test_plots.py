"""Figures for notebooks: what they draw, where, and what they refuse."""

import matplotlib
import numpy as np
import pytest
from made_up import verdict_row

import exparity
from exparity import InputError, compare_groups

RNG = np.random.default_rng(0)
GROUPS = ["male", "female"] * 40


def rows_of(dataset="d"):
    return [
        {"dataset": dataset, "model": "m", "seed": 0, "method": method, "metric": metric}
        | vars(compare_groups(RNG.normal(size=80), GROUPS, resamples=100))
        for method in ("lime", "mine")
        for metric in ("gini", "sparsity")
    ]


def columns_of(*arguments, **columns):
    """A row of verdicts as users have it."""
    return vars(verdict_row(*arguments, **columns))


def texts(axes):
    return [t.get_text() for t in axes.texts]


class TestVerdicts:
    def test_a_panel_for_each_dataset_with_what_stands_of_each_cell(self):
        rows = [
            columns_of(),
            columns_of("undecided", quantity="score"),
            columns_of(metric="sufficiency", better_group="b"),
            columns_of("equivalent", method="", quantity="random_excess", d=0.0),
            columns_of("undecided", dataset="e"),
        ]
        figure = exparity.plot_verdicts(rows)
        first, second = figure.axes
        assert [t.get_text() for t in first.get_yticklabels()] == ["LIME", "Random explanations"]
        said = [text for text in texts(first) if not text.startswith("gap ")]
        assert said == ["Different: a", "Different: b", "Equivalent"]
        assert texts(second)[0] == "Undecided"

    def test_no_verdicts_are_refused(self):
        with pytest.raises(InputError, match="there are no verdicts to plot"):
            exparity.plot_verdicts([])


class TestDistributions:
    def test_a_place_per_name_in_order(self):
        values = {"lime": RNG.normal(size=80), "my own": RNG.normal(size=80)}
        figure = exparity.plot_distributions(values, dict.fromkeys(values, GROUPS), label="Gini")
        (axes,) = figure.axes
        assert [t.get_text() for t in axes.get_xticklabels()] == ["LIME", "my own"]
        assert axes.get_ylabel() == "Gini"
        assert [t.get_text() for t in axes.get_legend().get_texts()] == ["male", "female"]

    @pytest.mark.parametrize(
        ("values", "groups", "message"),
        [
            ({}, GROUPS, "no scores"),
            ([1.0], GROUPS, "1 scores, but there are 80"),
            ([1.0, 2.0], ["male", "old"], "'old' is not in order="),
        ],
    )
    def test_scores_and_groups_that_do_not_fit_are_refused(self, values, groups, message):
        with pytest.raises(InputError, match=message):
            exparity.plot_distributions(values, groups)


class TestTests:
    def test_rows_by_hand_need_no_ids(self):
        found = compare_groups([1.0, 2.0, 3.0, 4.0, 1.5, 2.5, 3.5, 4.5], [*"ababbaba"], ("a", "b"))
        figure = exparity.plot_effects([{"method": "m", "metric": "k", **vars(found)}])
        assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["m"]

    def test_tests_of_several_tables_or_of_no_scores_are_refused(self):
        with pytest.raises(InputError, match=r"d \(male − female\), e \(male"):
            exparity.plot_effects(rows_of() + rows_of(dataset="e"))
        with pytest.raises(InputError, match="no tests to plot whose quantity is 'score'"):
            exparity.plot_effects([{**row, "quantity": "excess"} for row in rows_of()])


class TestWhere:
    def test_a_notebook_shows_what_a_cell_returns(self):
        figure = exparity.plot_verdicts([columns_of()], width=2)
        data, size = figure._repr_png_()
        assert data.startswith(b"\x89PNG")
        assert size["width"] == 260

    def test_settings_and_pyplot_stay_as_they_are(self):
        from matplotlib import pyplot

        before = dict(matplotlib.rcParams)
        exparity.plot_verdicts([columns_of()])
        assert dict(matplotlib.rcParams) == before
        assert not pyplot.get_fignums()
