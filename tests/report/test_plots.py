"""Figures for notebooks: what they draw, where, and what they refuse."""

import io
import math
import subprocess
import sys
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

import exparity
from exparity import Explanation, InputError, compare_groups
from exparity.types import Origin

RNG = np.random.default_rng(0)
GROUPS = ["male", "female"] * 40
PLAIN = Explanation("a b", 0, tokens=["a", "b"], scores=[1.0, -2.0])


def rows_of(seeds=(0,), models=("m",), dataset="d"):
    return [
        {
            "dataset": dataset,
            "model": model,
            "seed": seed,
            "method": method,
            "metric": metric,
            **vars(compare_groups(RNG.normal(size=80), GROUPS, resamples=100)),
        }
        for model in models
        for seed in seeds
        for method in ("lime", "mine")
        for metric in ("gini", "sparsity")
    ]


def texts(axes):
    return [t.get_text() for t in axes.texts]


class TestExplanations:
    def test_bars_are_scores(self):
        found = Explanation(
            "x a b c", 2, tokens=["[CLS]", "a", "##b", "c"], scores=[5.0, 1.0, -2.0, math.nan],
            special_mask=[1, 0, 0, 0], word_ids=[-1, 0, 0, 1], rationale=[0, 1],
        )  # fmt: skip
        (axes,) = exparity.plot_explanation(found).axes
        bars = {round(p.get_x() + p.get_width() / 2): p for p in axes.patches}
        assert {x: p.get_height() for x, p in bars.items()} == {0: 5.0, 1: 1.0, 2: -2.0, 3: 0.0}
        assert len({bars[i].get_facecolor() for i in range(3)}) == 3
        assert bars[2].get_hatch()
        assert not bars[1].get_hatch()
        labels = axes.get_xticklabels()
        assert [t.get_text() for t in labels] == ["[CLS]", "a", "b", "c"]
        assert [t.get_fontweight() for t in labels] == ["normal"] * 3 + ["bold"]
        assert axes.get_title(loc="left") == "target 2"

    def test_several_share_a_scale(self):
        figure = exparity.plot_explanation([PLAIN, PLAIN, PLAIN])
        limits = {axes.get_ylim() for axes in figure.axes}
        assert len(figure.axes) == 3
        assert len(limits) == 1

    def test_scores_beyond_what_an_axis_holds(self):
        huge = Explanation("a b", 0, tokens=["a", "b"], scores=[1e308, -1e308])
        with pytest.raises(InputError, match="explanation of 'a b': a score is too large to plot"):
            exparity.plot_explanation(huge)

    def test_none_is_refused(self):
        with pytest.raises(InputError, match="no explanation"):
            exparity.plot_explanation([])


class TestDistributions:
    def test_a_place_per_name_in_order(self):
        values = {"lime": RNG.normal(size=80), "my own": RNG.normal(size=80)}
        figure = exparity.plot_distributions(values, GROUPS, label="Gini")
        (axes,) = figure.axes
        assert [t.get_text() for t in axes.get_xticklabels()] == ["LIME", "my own"]
        assert axes.get_ylabel() == "Gini"
        assert [t.get_text() for t in axes.get_legend().get_texts()] == ["male", "female"]

    def test_groups_by_name(self):
        figure = exparity.plot_distributions(
            {"a": [1.0, 2.0], "b": [1.0, 2.0, 3.0]},
            {"a": ["x", "y"], "b": ["x", "y", "z"]},
            order=("x", "y", "z"),
        )
        assert len(figure.axes[0].get_legend().get_texts()) == 3

    def test_undefined_and_constant_scores(self):
        values = [math.nan] * 40 + [1.0] * 40
        figure = exparity.plot_distributions(values, GROUPS)
        assert figure.axes[0].lines

    def test_on_a_logarithmic_axis(self):
        figure = exparity.plot_distributions(np.exp(RNG.normal(size=80) * 4), GROUPS, log=True)
        figure.draw_without_rendering()
        assert figure.axes[0].get_yscale() == "log"
        assert not any("$" in t.get_text() for t in figure.axes[0].get_yticklabels())

    @pytest.mark.parametrize(
        ("values", "groups", "message"),
        [
            ({}, GROUPS, "no scores"),
            ([1.0], GROUPS, "1 scores, but there are 80"),
            ({"a": [1.0]}, {"b": ["male"]}, "'a' have no groups"),
            ([1.0, 2.0], ["male", "old"], "'old' is no group"),
        ],
    )
    def test_bad_input(self, values, groups, message):
        with pytest.raises(InputError, match=message):
            exparity.plot_distributions(values, groups)

    def test_log_needs_positive_scores(self):
        with pytest.raises(InputError, match="'a' are not all positive"):
            exparity.plot_distributions({"a": [0.0, 1.0]}, ["male", "female"], log=True)


class TestTests:
    def test_rows_by_hand_need_no_ids(self):
        found = compare_groups([1.0, 2.0, 3.0, 4.0, 1.5, 2.5, 3.5, 4.5], [*"ababbaba"], ("a", "b"))
        figure = exparity.plot_effects([{"method": "m", "metric": "k", **vars(found)}])
        assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["m"]

    def test_effects_have_a_panel_per_metric(self):
        figure = exparity.plot_effects(pd.DataFrame(rows_of(models=("a", "b"))))
        titles = [axes.get_title(loc="left").replace("\xa0", " ") for axes in figure.axes]
        assert titles == ["Gini index ↑", "Sparsity ↓"]

    def test_bad_input(self):
        plot = exparity.plot_effects
        with pytest.raises(InputError, match="no tests"):
            plot([])
        with pytest.raises(InputError, match="test 0: has no 'p'"):
            plot([{"method": "m", "metric": "k", "group_a": "a", "group_b": "b"}])
        with pytest.raises(InputError, match=r"d \(male − female\), e \(male"):
            plot(rows_of() + rows_of(dataset="e"))


class TestNamesFromOutside:
    ODD = "\x1b[31m\u202e\x9b"

    def drawn(self, figure):
        """Return the figure as SVG, which must be XML."""
        file = io.BytesIO()
        figure.savefig(file, format="svg")
        ElementTree.fromstring(file.getvalue())
        return figure

    def test_control_characters_are_written_out(self):
        odd = [{**row, "group_a": f"a{self.ODD}", "model": self.ODD} for row in rows_of()]
        explained = Explanation("a b", 0, tokens=[self.ODD, "b"], scores=[1.0, -2.0],
                                origin=Origin(self.ODD, {}, 0, "a"))  # fmt: skip
        groups = [f"a{self.ODD}", "b"]
        figures = [
            exparity.plot_effects(odd),
            exparity.plot_explanation(explained),
            exparity.plot_distributions(
                {self.ODD: [1.0, 2.0, 3.0, 4.0]}, groups * 2, groups, label=self.ODD
            ),
        ]
        for figure in figures:
            shown = [t.get_text() for t in self.drawn(figure).findobj(Text)]
            assert any(r"\x1b[31m\u202e\x9b" in text for text in shown)


class TestWhere:
    def test_into_axes_of_the_callers_own(self):
        figure = Figure()
        axes = figure.subplots(2)
        found = [
            exparity.plot_explanation(PLAIN, ax=axes[0]),
            exparity.plot_distributions(RNG.normal(size=80), GROUPS, ax=axes[1]),
        ]
        assert all(f is figure for f in found)
        assert all(a.has_data() or a.patches for a in axes)

    def test_axes_hold_one(self):
        axes = Figure().subplots()
        with pytest.raises(InputError, match="one of explanations, not 2"):
            exparity.plot_explanation([PLAIN, PLAIN], ax=axes)

    def test_a_notebook_shows_what_a_cell_returns(self):
        figure = exparity.plot_explanation(PLAIN, width=2)
        data, metadata = figure._repr_mimebundle_()
        assert data["image/png"].startswith(b"\x89PNG")
        assert metadata["image/png"]["width"] == 260

    def test_settings_and_pyplot_stay_as_they_are(self):
        from matplotlib import pyplot

        before = dict(matplotlib.rcParams)
        exparity.plot_explanation(PLAIN)
        assert dict(matplotlib.rcParams) == before
        assert not pyplot.get_fignums()

    def test_nothing_heavy_loads_before_the_first_figure(self):
        code = (
            "import sys, exparity; exparity.plot_effects, exparity.Explanation\n"
            "heavy = {'matplotlib', 'torch', 'pandas', 'transformers'} & set(sys.modules)\n"
            "sys.exit(f'imported: {heavy}' if heavy else 0)"
        )
        run = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        )
        assert run.returncode == 0, run.stderr
