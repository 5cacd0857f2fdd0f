"""Dots of levels and bars of a gap's sources: what they mark, where, and in which order."""

import math
from itertools import pairwise

import pytest
from report.reading import points_of

from exparity.report.row_plots import GapParts, Level, level_plot, source_plot
from exparity.report.templating import html_environment

LEVELS = [
    Level("Gradient", "f", 0.10, 0.06, 0.14, 0.54, "different", "m"),
    Level("Gradient", "m", 0.26, 0.20, 0.31, 0.52, "different", "m"),
    Level("LIME", "f", 0.32, 0.27, 0.37, 0.54, "undecided"),
    Level("LIME", "m", 0.41, 0.38, 0.45, 0.52, "undecided"),
]


def shapes_of(row, style):
    return [shape for shape in row.drawing.shapes if shape.style == style]


def x_of(shape):
    return points_of(shape.path)[0][0]


class TestLevels:
    def test_the_best_for_its_worst_off_group_is_first(self):
        assert [row.name for row in level_plot(LEVELS).rows] == ["LIME", "Gradient"]
        lower = level_plot(LEVELS, higher_is_better=False)
        assert [row.name for row in lower.rows] == ["Gradient", "LIME"]

    def test_dots_intervals_and_ceilings_lie_where_their_numbers_are(self):
        plot = level_plot(LEVELS)
        gradient = plot.rows[1]
        zero, *_ = (words.x for words in plot.axis.words if words.text == "0.0")
        unit = (next(w.x for w in plot.axis.words if w.text == "0.4") - zero) / 0.4
        for place, level in enumerate(LEVELS[:2], start=1):
            (dot,) = shapes_of(gradient, f"dot group-{place}")
            (interval,) = shapes_of(gradient, f"range group-{place}")
            (ceiling,) = shapes_of(gradient, f"ceiling group-{place}")
            ends = [x for x, _ in points_of(interval.path)]
            found = [x_of(dot), *ends, x_of(ceiling)]
            numbers = [level.level, level.ci_low, level.ci_high, level.ceiling]
            assert [(x - zero) / unit for x in found] == pytest.approx(numbers, abs=0.003)
            assert level.text in gradient.label

    def test_the_line_has_the_colour_of_the_favoured_group(self):
        lime, gradient = level_plot(LEVELS).rows
        assert shapes_of(gradient, "gap group-2")
        assert shapes_of(lime, "gap")
        assert (gradient.word, lime.word) == ("different", "undecided")

    def test_an_axis_that_ends_short_of_a_round_value_has_it(self):
        near = level_plot([Level("a", "f", 0.98)])
        far = level_plot([Level("a", "f", 0.65)])
        assert near.axis.words[-1].text == "1.0"
        assert far.axis.words[-1].text == "0.6"

    def test_what_is_undefined_is_not_drawn(self):
        bare = level_plot([Level("a", "f", -0.5), Level("a", "m", math.nan, 0, 1)])
        (row,) = bare.rows
        assert [shape.style for shape in row.drawing.shapes] == ["grid", "gap", "dot group-1"]
        assert [text for _, text in bare.key] == ["f", "m"]
        assert level_plot([Level("a", "f", math.nan)]) is None
        assert level_plot([]) is None


class TestSources:
    def test_parts_are_stacked_from_zero_to_their_sum(self):
        plot = source_plot([GapParts("LIME", {"chance": 0.11, "room": 0.15, "explanations": 0.04})])
        (row,) = plot.rows
        corners = [points_of(shape.path) for shape in row.drawing.shapes[1:4]]
        for (_, *first), (second, *_) in pairwise(corners):
            assert first[0][0] == second[0]
        (total,) = shapes_of(row, "ceiling")
        assert x_of(total) == corners[-1][1][0]
        assert row.text == "0.3, of it chance 0.11, room 0.15, explanations 0.04"

    def test_negative_parts_lie_on_the_other_side(self):
        plot = source_plot(
            [
                GapParts("a", {"chance": 0.3, "room": -0.1}),
                GapParts("b", {"chance": math.nan, "room": 1.0}),
            ]
        )
        (row,) = plot.rows  # an unknown part would leave the sum open
        chance, room = (points_of(shape.path) for shape in row.drawing.shapes[1:3])
        assert chance[0] == room[0]
        assert room[1][0] < room[0][0] < chance[1][0]
        assert source_plot([]) is None


def test_the_page_has_names_words_and_numbers_as_text():
    template = html_environment().get_template("_row_plot.html.j2")
    html = template.render(plot=level_plot(LEVELS), caption="Levels")
    assert 'aria-label="Gradient: f 0.1 (0.06 to 0.14), best possible about 0.54; m 0.26' in html
    assert 'best possible about 0.52; different"' in html
    assert '<span class="row-word">different</span>' in html
    # The rows alone, not their axis, are shown in words by pointer and by keyboard.
    assert html.count('role="img"') == html.count('tabindex="0"') == 2
