"""Plots of the page: where shapes lie, what axes say, and that names stay text."""

import math
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from made_up import HOSTILE, seed_test
from report.reading import points_of

from exparity.report.charts import effects_chart, violins, violins_axis
from exparity.report.spreads import POINTS, range_of, score_spread
from exparity.report.svg import Drawing, Scale, Shape, Words, dots, horizontal_axis, line

_FINITE = st.floats(-1e300, 1e300)


class TestPaths:
    @given(st.lists(st.tuples(st.floats(0, 400), st.floats(0, 400)), min_size=1, max_size=20))
    def test_reading_a_line_gives_its_points_to_a_quarter_of_a_pixel(self, points):
        rounded = [(round(2 * x) / 2, round(2 * y) / 2) for x, y in points]
        found = points_of(line(points))
        assert found[0] == rounded[0]
        assert found[-1] == rounded[-1]
        corners = iter(rounded)
        assert all(point in corners for point in found)  # in this order

    def test_points_straight_between_others_are_left_out(self):
        points = [(0, 0), (0, 1), (0, 1.1), (0, 4), (2, 6), (3, 7), (3, 5), (3, 9)]
        assert points_of(line(points)) == [(0, 0), (0, 4), (3, 7), (3, 5), (3, 9)]

    def test_dots_have_no_length(self):
        assert dots([(10, 20.5), (0, 3)]) == "M10 20.5h0M0 3h0"


class TestScale:
    @given(_FINITE, _FINITE)
    def test_ticks_are_inside_and_their_numbers_tell_them_apart(self, first, second):
        low = min(first, second)
        high = max(first, second)
        assume(high - low > 1e-6 * max(abs(low), abs(high)))
        assume(high - low > 1e-290)
        ticks = Scale(low, high, 100, 0).ticks()
        assert 1 <= len(ticks) <= 7
        assert all(low <= value <= high for value, _ in ticks)
        assert len({text for _, text in ticks}) == len(ticks)
        for value, text in ticks:
            assert float(text.replace("−", "-")) == pytest.approx(value, abs=(high - low) / 100)

    def test_numbers_are_short(self):
        assert [text for _, text in Scale(-0.1, 0.65, 0, 1).ticks(4)] == [
            "0.0",
            "0.2",
            "0.4",
            "0.6",
        ]
        assert [text for _, text in Scale(0, 2.1e7, 0, 1).ticks(3)] == ["0e+00", "1e+07", "2e+07"]

    def test_an_axis_has_a_line_and_a_number_at_each_tick(self):
        scale = Scale(0, 1, 50, 250)
        axis = horizontal_axis(scale, 0, 100)
        assert [words.text for words in axis.words][::5] == ["0.0", "1.0"]
        (grid,) = axis.shapes
        assert [x for x, _ in points_of(grid.path)][::2] == [words.x for words in axis.words]


class TestDrawing:
    def test_words_and_labels_from_outside_stay_text(self):
        words = Words("end", 1, 2, f"{HOSTILE}\x1b")
        drawing = Drawing(10, 10, [Shape("dots", "M1 1h0")], [words])
        frame = ElementTree.fromstring(drawing.frame(HOSTILE, 0))
        assert frame.attrib["aria-label"] == HOSTILE
        root = ElementTree.fromstring(drawing.markup())
        assert root.attrib["aria-hidden"] == "true"
        assert [node.text for node in root.iter() if node.text] == [HOSTILE + r"\x1b"]


class TestViolins:
    @pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
    def test_sides_are_the_density_and_boxes_the_quantiles(self, scale):
        rng = np.random.default_rng(0)
        spreads = [score_spread(scale * rng.normal(size=200)) for _ in range(2)]
        axis = violins_axis(spreads, 2)
        first, _, box, median = violins(spreads, spreads)
        assert (first.style, box.style, median.style) == ("group-1", "box", "median")
        place = Scale(*range_of(spreads), axis.height - 8, 8)
        points = np.array(points_of(first.path))
        edge = points[:, 0].max()
        side = points[: np.flatnonzero(points[:, 0] == edge)[0]][::-1]
        heights = place.places(spreads[0].at)[::-1]
        widths = np.interp(heights, side[:, 1], edge - side[:, 0])
        assert widths / widths.max() == pytest.approx(spreads[0].density[::-1], abs=0.03)
        middle = place.place(spreads[0].numbers[2])
        assert points_of(median.path)[0][1] == pytest.approx(middle, abs=0.3)

    def test_the_density_equals_a_naive_sum(self):
        values = np.random.default_rng(1).normal(size=300)
        found = score_spread(values)
        kept = values[(values >= found.at[0]) & (values <= found.at[-1])]
        iqr = np.quantile(kept, 0.75) - np.quantile(kept, 0.25)
        width = 0.9 * min(kept.std(), iqr / 1.34) * len(kept) ** -0.2
        width = max(width, (found.at[-1] - found.at[0]) / POINTS)
        naive = np.array(
            [sum(math.exp(-(((x - v) / width) ** 2) / 2) for v in kept) for x in found.at]
        )
        assert found.density == pytest.approx(naive / naive.max(), abs=0.01)

    def test_equal_scores_are_a_line(self):
        spreads = [score_spread([0.3] * 9), None, score_spread([0.3 + 1e-17] * 4)]
        shapes = violins(spreads, spreads)
        assert [shape.style for shape in shapes] == ["group-1", "group-3", "box", "median"]
        assert len({y for _, y in points_of(shapes[0].path)}) == 1
        assert violins_axis([None], 1) is None


TEST = seed_test(seed=3, cohens_d=0.5, d_ci_low=0.1, d_ci_high=0.9, significant=True)


class TestEffects:
    def test_dots_are_significant_and_crosses_are_not(self):
        other = replace(TEST, seed=4, d_ci_low=math.nan, significant=False)
        undefined = replace(TEST, seed=5, cohens_d=math.nan)
        chart = effects_chart([TEST, other, undefined], 0.2, "d")
        shapes = {shape.style: points_of(shape.path) for shape in chart.shapes}
        assert len(shapes["dots"]) == 1
        assert len(shapes["crosses"]) == 4
        (left, right) = shapes["interval"]
        assert left[0] < shapes["dots"][0][0] < right[0]
        assert [words.text for words in chart.words if words.text.startswith("seed")] == [
            "seed 3",
            "seed 4",
        ]
        assert effects_chart([undefined], 0.2, "d") is None
