"""Methods and definitions: formulas and sources, from the registries and their docstrings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

from exparity.core.registry import Entry, Registry
from exparity.methods import METHODS
from exparity.metrics import METRICS
from exparity.report.context import Context
from exparity.report.mathml import mathml
from exparity.report.sections.section import Content, Section

_MATH = re.compile(r":math:`([^`]+)`")
_DOI = re.compile(r"\b(doi:|arXiv:)(\S+?)(?=[,;.]?(?:\s|$))")
_PLACES = {"doi:": "https://doi.org/", "arXiv:": "https://arxiv.org/abs/"}


@dataclass(frozen=True)
class Definition:
    """One method, metric or statistic in words.

    Attributes:
        name: its name.
        ids: instances of it in this study.
        text: what it is, as HTML.
        facts: pairs of name and value.
        source: where it is defined, as HTML.
    """

    name: str
    ids: tuple[str, ...]
    text: Markup
    facts: tuple[tuple[str, str], ...]
    source: Markup


_STATISTICS = (
    ("Mann–Whitney U",
     r"""Is a score of the first group above one of the second as often as below? With
     :math:`R_a` the sum of the first group's ranks, :math:`U = R_a - n_a (n_a + 1) / 2`;
     two-sided, with the exact distribution for up to eight scores a group without ties, else
     :math:`p = 2\,\Phi(-z)`, :math:`z = \frac{|U - n_a n_b / 2| - 1/2}{\sqrt{\frac{n_a n_b}{12}
     (N + 1 - \frac{\sum (t^3 - t)}{N (N - 1)})}}`.""",
     "Mann and Whitney 1947, doi:10.1214/aoms/1177730491"),
    ("Wilcoxon signed-rank",
     r"""On the differences within matched sets: are they symmetric around zero? :math:`R_+` is the
     sum of the ranks of positive differences:
     :math:`z = \frac{|R_+ - n (n + 1) / 4|}{\sqrt{\frac{n (n + 1) (2 n + 1)}{24} -
     \frac{\sum (t^3 - t)}{48}}}`. It knows of sets; Mann–Whitney does not.""",
     "Wilcoxon 1945, doi:10.2307/3001968"),
    ("Cohen's d",
     r""":math:`d = \frac{\bar a - \bar b}{s}` with
     :math:`s = \sqrt{(s_a^2 + s_b^2) / 2}`, first group minus second. The interval is a
     bias-corrected and accelerated bootstrap of whole matched sets (Efron 1987).""",
     "Cohen 1988; Efron 1987, doi:10.1080/01621459.1987.10478410"),
    ("Rank-biserial correlation",
     r""":math:`r = \frac{2 U}{n_a n_b} - 1`, from −1 to 1: how much more often the first group
     scores higher than lower.""",
     "Wendt 1972"),
    ("Correction by Holm",
     r""":math:`\tilde p_{(i)} = \max_{j \le i} \min(1, (m - j + 1)\, p_{(j)})` for the i-th
     smallest of m p-values of a family: the probability of any false finding stays at α.""",
     "Holm 1979"),
    ("Correction by Benjamini and Hochberg",
     r""":math:`\tilde p_{(i)} = \min_{j \ge i} \min(1, \frac{m}{j}\, p_{(j)})`: the expected share
     of false ones among the findings stays at α.""",
     "Benjamini and Hochberg 1995, doi:10.1111/j.2517-6161.1995.tb02031.x"),
    ("One p-value for all seeds",
     r"""Cauchy combination, :math:`p = \frac12 - \frac1\pi \arctan ( \frac1k \sum_s
     \tan ( \frac{\pi}{2} - \pi p_s ) )`, since seeds share their test examples.""",
     "Liu and Xie 2020, doi:10.1080/01621459.2018.1554485"),
    ("Permutation control",
     """The same tests with group labels dealt out at random, within matched sets or over all rows,
     so that there is nothing to find. A test that keeps its level finds the share α.""",
     "Interval: Clopper and Pearson 1934, doi:10.1093/biomet/26.4.404"),
)  # fmt: skip


def prose(docstring: str) -> str:
    """Return the description of a Google-style docstring, without its sections."""
    text = "\n".join(line.strip() for line in docstring.strip().splitlines())
    return re.split(r"\n(?:Args|Returns|Raises|Yields|Note|Example)s?:\n", text)[0].strip()


def to_html(text: str) -> Markup:
    """Return paragraphs with ``:math:`` roles as escaped HTML with MathML."""
    return Markup("").join(
        Markup("<p>{}</p>").format(_paragraph(" ".join(part.split())))
        for part in re.split(r"\n\s*\n", text)
        if part.strip()
    )


def _paragraph(text: str) -> Markup:
    parts = _MATH.split(text)
    return Markup("").join(mathml(part) if i % 2 else _inline(part) for i, part in enumerate(parts))


def _inline(text: str) -> Markup:
    pieces = re.split(r"``([^`]+)``", text)
    return Markup("").join(
        Markup("<code>{}</code>").format(piece) if i % 2 else escape(piece)
        for i, piece in enumerate(pieces)
    )


def source_html(text: str) -> Markup:
    """Return a reference with its DOI or arXiv number as a link."""
    out, end = Markup(""), 0
    for link in _DOI.finditer(text):
        href = _PLACES[link[1]] + link[2]
        out += escape(text[end : link.start()])
        out += Markup('<a href="{}" rel="noreferrer">{}</a>').format(href, link[0])
        end = link.end()
    return out + escape(text[end:])


def _entries(names: Mapping[str, str], registry: Registry[Any]) -> list[Definition]:
    by_use: dict[str, list[str]] = {}
    for id, use in names.items():
        by_use.setdefault(use, []).append(id)
    return [_definition(registry.get(use), tuple(ids)) for use, ids in by_use.items()]


def _definition(entry: Entry[Any], ids: tuple[str, ...]) -> Definition:
    return Definition(
        name=entry.display,
        ids=ids,
        text=to_html(prose(entry.function.__doc__ or "")),
        facts=tuple(_facts(entry.facts)),
        source=source_html(entry.facts.reference),
    )


def _facts(facts: Any) -> list[tuple[str, str]]:
    if hasattr(facts, "direction"):
        low, high = (f"{end:g}".replace("inf", "∞") for end in facts.bounds)
        needs = {
            "attributions": "the attributions alone",
            "rationale": "the attributions of words and the rationale",
            "probabilities": "the model",
            "explainer": "the model and the method again",
        }
        return [
            ("Better", facts.direction),
            ("Range", f"{low} to {high} ({facts.unit})"),
            ("Property", facts.kind),
            ("Runs", needs.get(facts.needs, facts.needs)),
            ("Random", "yes" if facts.stochastic else "no"),
        ]
    return [
        ("Explains", facts.target),
        ("Signed", "yes" if facts.signed else "no"),
        ("Gradient", "yes" if facts.needs_gradient else "no"),
        ("Baseline", facts.baseline or "none"),
        ("Random", "yes" if facts.stochastic else "no"),
    ]


def _build(context: Context) -> Content:
    statistics = [
        Definition(name, (), to_html(text), (), source_html(source))
        for name, text, source in _STATISTICS
    ]
    return Content(
        {
            "groups": [
                ("Metrics", _entries(context.study.metrics, METRICS)),
                ("Explanation methods", _entries(context.study.methods, METHODS)),
                ("Statistics", statistics),
            ]
        }
    )


SECTION = Section("definitions", "Methods and definitions", _build)
