"""Copies of the figures' font: the same letters, embedded in less time."""

import re
from pathlib import Path

import pytest
from fontTools.ttLib import TTFont
from matplotlib.font_manager import FontProperties, findfont, fontManager
from matplotlib.textpath import TextPath

from exparity.report.figures.fonts import quick_to_embed
from exparity.report.figures.style import house_style, new_figure, save

FACES = [{}, {"weight": "bold"}, {"style": "italic"}]
WORDS = "AVATAR To forty ± ≤ − × → ◀ ▶ naïve Δ"


def outline(words, face):
    path = TextPath((0, 0), words, size=10, prop=FontProperties(**face))
    return path.vertices.tolist(), path.codes.tolist()


@pytest.mark.parametrize("face", FACES, ids=str)
@pytest.mark.parametrize("words", [WORDS, "кириллица", "\N{SNOWMAN} A"])
def test_letters_look_and_lie_as_in_the_whole_font(words, face):
    with house_style():
        expected = outline(words, face)
        with quick_to_embed():
            assert outline(words, face) == expected


@pytest.mark.parametrize("face", FACES, ids=str)
def test_a_copy_is_small_and_lasts_as_long_as_it_is_used(face):
    fonts = list(fontManager.ttflist)
    with house_style():
        whole = findfont(FontProperties(**face))
        with quick_to_embed():
            copy = findfont(FontProperties(**face))
            assert Path(copy).name == Path(whole).name
            assert Path(copy).stat().st_size < Path(whole).stat().st_size / 2
            with TTFont(copy) as font:
                assert not {"GSUB", "GPOS"} & set(font.keys())
        assert not Path(copy).exists()
        assert findfont(FontProperties(**face)) == whole
    assert fontManager.ttflist == fonts


def test_a_figure_has_letters_of_both_in_its_pdf(tmp_path):
    with house_style(), quick_to_embed():
        figure = new_figure(2, 1)
        figure.text(0.1, 0.5, "both кириллица")
        save(figure, tmp_path / "figure", "")
    embedded = re.findall(rb"/FontName /([\w-]+)", (tmp_path / "figure.pdf").read_bytes())
    assert len(embedded) == 2
