"""Explanations and comparisons as HTML: all text escaped, numbers as they are, signs said twice."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers.pre_tokenizers import ByteLevel

from exparity import Explanation, compare_groups
from exparity.core.escaping import visible
from exparity.explanations.markup import token_texts


class Reader(HTMLParser):
    """Collects text, elements and the style of the innermost element of each text."""

    def __init__(self, source):
        super().__init__()
        self.open, self.text, self.tags, self.tokens = [], [], [], []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.open.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        self.text.append(data)
        if self.open and ": " in self.open[-1][1].get("title", ""):
            self.tokens.append((data, self.open[-1][1]))


def read(found):
    reader = Reader(found._repr_html_())
    assert not reader.open
    return reader


def explanation(tokens, scores, **others):
    return Explanation(" ".join(tokens), 1, tokens=tokens, scores=scores, **others)


def alpha(style):
    shade = re.search(r"background:rgba\((\d+),(\d+),(\d+),([\d.]+)\)", style)
    return (tuple(map(int, shade.groups()[:3])), float(shade[4])) if shade else None


class TestExplanation:
    def test_the_direction_comes_from_the_text(self):
        """Special tokens, which are Latin, have one of their own, so that they do not count."""
        special = [True, False, False, True]
        tokens = ["[CLS]", "\u05d0\u05e0\u05d9", "\u05d0\u05d5\u05d4\u05d1", "[SEP]"]
        found = explanation(tokens, [0.0, 1.0, 2.0, 0.0], special_mask=special)
        directions = [attrs.get("dir") for _, attrs in read(found).tokens]
        assert directions == ["ltr", None, None, "ltr"]
        assert '<div dir="auto"' in found._repr_html_()

    def test_dollars_are_no_formulas_in_a_notebook(self):
        """MathJax leaves out what is in an element of these classes."""
        found = explanation(["it", "cost", "$", "31", "or", "$", "135"], [0.0] * 7)
        comparison = compare_groups([1.0, 2.0, 3.0, 4.0], ["a", "a", "b", "b"], ("a", "b"))
        for shown in (found, comparison):
            tag, attributes = read(shown).tags[0]
            assert tag == "div"
            assert {*attributes["class"].split()} == {"tex2jax_ignore", "mathjax_ignore"}

    def test_shades_grow_with_scores_and_tell_signs_apart(self):
        tokens = read(explanation(["a", "b", "c", "d"], [2.0, -1.0, 0.5, 0.0])).tokens
        shades = [alpha(attrs["style"]) for _, attrs in tokens]
        green, magenta = (91, 154, 28), (194, 56, 143)
        assert shades[0] == (green, 0.55)
        assert shades[1] == (magenta, pytest.approx(0.275, abs=0.006))
        assert shades[2] == (green, pytest.approx(0.1375, abs=0.006))
        assert shades[3] is None
        lines = [re.search(r"border-bottom:2px (\w+)", a["style"]) for _, a in tokens]
        assert [line and line[1] for line in lines] == ["solid", "dotted", "solid", None]

    def test_special_tokens_are_not_shaded_and_do_not_scale(self):
        found = explanation(["[CLS]", "a", "[SEP]"], [9.0, 1.0, -9.0], special_mask=[1, 0, 1])
        shades = [alpha(attrs["style"]) for _, attrs in read(found).tokens]
        assert shades == [None, ((91, 154, 28), 0.55), None]
        assert "against it" not in "".join(read(found).text)

    def test_titles_hold_the_raw_scores(self):
        found = explanation(["a", "b", "c"], [0.123456, -0.5, float("nan")])
        titles = [attrs["title"] for _, attrs in read(found).tokens]
        assert titles == ["a: +0.123", "b: −0.5", "c: undefined"]

    def test_words_of_the_rationale_are_boxed_as_a_whole(self):
        found = explanation(
            ["un", "##known", "word"], [1, 2, 3], word_ids=[0, 0, 1], rationale=[1, 0]
        )
        boxes = [a for _, a in read(found).tags if a.get("title") == "rationale"]
        assert len(boxes) == 1
        assert "outline" in boxes[0]["style"]
        assert "rationale" in "".join(read(found).text)

    @given(
        st.lists(
            st.tuples(
                st.text(min_size=1, max_size=8).filter(lambda t: token_texts([t]) == [t]),
                st.floats(width=32) | st.just(0.0),
                st.booleans(),
            ),
            min_size=1,
            max_size=12,
        )
    )
    def test_any_text_is_text(self, rows):
        tokens, scores, special = (list(column) for column in zip(*rows, strict=True))
        reader = read(explanation(tokens, scores, special_mask=special))
        assert {tag for tag, _ in reader.tags} <= {"div", "span"}
        whole, *inside = reader.tags
        assert whole == ("div", {"class": "tex2jax_ignore mathjax_ignore"})
        assert all(set(attrs) <= {"style", "title", "dir"} for _, attrs in inside)
        assert {attrs["dir"] for _, attrs in reader.tags if "dir" in attrs} <= {"auto", "ltr"}
        assert "".join(t for t, _ in reader.tokens) == "".join(map(visible, tokens))
        assert "nan" not in reader.rawdata


class TestTokens:
    @pytest.mark.parametrize(
        ("tokens", "texts"),
        [
            (["play", "##ing", "##"], ["play", "ing", "##"]),
            (["Ġplay", "ing", "Ġ"], ["play", "ing", " "]),
            (["▁play", "ing", "▁"], ["play", "ing", "▁"]),
            (["play</w>"], ["play"]),
            (["Ġcaf", "Ã©", "Ġâ", "Ģ", "ľ"], ["caf", "é", "Ġâ", "Ģ", "ľ"]),
            (["caf", "Ã©"], ["caf", "Ã©"]),  # no byte-level token among them
            ([""], [""]),
        ],
    )
    def test_marks_of_tokenizers_are_left_out(self, tokens, texts):
        assert token_texts(tokens) == texts

    @given(st.text(min_size=1).filter(lambda t: not re.search("##|▁|</w>|\ufffd", t)))
    def test_byte_level_tokens_of_the_tokenizers_library(self, text):
        """Whole words: all their bytes are in one token."""
        words = ByteLevel(add_prefix_space=True).pre_tokenize_str(text)
        found = token_texts(["Ġ", *(word for word, _ in words)])[1:]
        assert "".join("".join(found).split()) == "".join(text.split())


class TestComparison:
    def test_a_comparison_shows_its_numbers(self):
        rng = np.random.default_rng(1)
        groups = ["male"] * 40 + ["female"] * 40
        pairs = [str(i) for i in range(40)] * 2
        found = compare_groups(rng.normal(size=80) + 1, groups, pairs=pairs)
        cells = [t for t in read(found).text if t.strip()]
        assert cells[:4] == ["n", "mean", "standard deviation", "male"]
        assert f"{found.mean_a:.3g}" in cells
        text = "".join(cells)
        assert f"U = {found.U:,.0f}, p = {found.p:.3f}" in text
        low, high = (f"{x:+.3g}".replace("-", "−") for x in (found.d_ci_low, found.d_ci_high))
        assert f"({low} to {high})" in text
        assert f"40 matched sets, p = {found.wilcoxon_p:.3f}" in text

    def test_what_is_undefined_is_said(self):
        found = compare_groups([1.0, 1.0, 1.0, float("nan")], ["a", "a", "b", "b"], ("a", "b"))
        text = "".join(read(found).text)
        assert "too_few" in text
        assert "undefined_values" in text
        assert "1 of 4, left out" in text
        assert "nan" not in text

    def test_names_of_groups_are_shown_as_text(self):
        order = ("<b>", "a\x1b[2J\u202e")
        found = compare_groups([1.0, 2.0, 3.0, 5.0], order * 2, order)
        assert r"<b> − a\x1b[2J\u202e" in "".join(read(found).text)
        assert {tag for tag, _ in read(found).tags} == {"div", "table", "tr", "th", "td", "b"}
