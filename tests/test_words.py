"""How many of the glossary's terms a reader meets first: on the page, in README, after an audit.

Those of the glossary's second part may not be there; of the first part there may be a few.
"""

import re

import pytest
from made_up import config, grid_of, make_study

from exparity.metrics import METRICS
from exparity.report.conclusions import conclusions_of
from exparity.report.context import Context
from exparity.report.gather import gather
from exparity.report.render import render_page
from exparity.report.sections.findings import in_plain_words

FIRST, SECOND = "## On the first screen", "## In Statistics and in the dialog of a comparison"
MOST = {"page": 6, "readme": 9, "audit": 6}


@pytest.fixture(scope="module")
def glossary(repository):
    """The terms of both parts of the glossary."""
    text = (repository / "docs" / "glossary.md").read_text()
    first, second = text.partition(FIRST)[2].split(SECOND)
    parts = [re.findall(r"^\| \*\*(.+?)\*\* \|", part, re.M) for part in (first, second)]
    assert all(len(part) >= 10 for part in parts)
    return dict(zip(("first", "second"), parts, strict=True))


def terms_in(text, terms):
    """The terms that stand in a text, in either number; one letter counts in its own case."""
    found = []
    for term in terms:
        pattern = term if len(term) == 1 else f"(?i:{re.escape(term)}(?:s|es)?)"
        found += [term] if re.search(rf"\b{pattern}\b", text) else []
    return found


def check(text, glossary, most):
    assert terms_in(text, glossary["second"]) == []
    assert 2 < len(terms_in(text, glossary["first"])) <= most


def test_terms_are_found_by_word_and_number(glossary):
    assert terms_in("Skills by |d|, in roomy cells.", glossary["second"]) == ["cell", "d", "skill"]
    assert terms_in("Explanations of two groups", glossary["first"]) == ["explanation", "group"]


@pytest.fixture(scope="module", params=[1, 3], ids=["one training", "three trainings"])
def context(request, tmp_path_factory):
    """A study of two datasets."""
    settings = config(datasets=2, models=1, seeds=request.param, methods=3, metrics=2)
    folder = make_study(tmp_path_factory.mktemp("words"), settings, pairs=12)
    return Context(gather(folder, grid_of(settings)), folder / "report")


def first_screen(source):
    """The texts that show when a page opens, below its title and down to the last answer."""
    body = source[source.index('<nav class="contents"') : source.index("</ol>")]
    folded = re.sub(r"</summary>.*?</details>", "", body, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", " ", folded).split())


def test_the_first_screen_has_few_terms(context, glossary):
    text = first_screen(render_page(context))
    for question, answer in conclusions_of(context).items():
        assert question in text
        assert answer.text.split(". ")[0] in text
    check(text, glossary, MOST["page"])


def test_a_metric_is_explained_where_an_answer_names_it(context):
    names = [context.study.display("metric", metric).lower() for metric in METRICS.ids()
             if metric in context.study.metrics]  # fmt: skip
    for answer in conclusions_of(context).values():
        for name in names:
            start = answer.text.lower().find(name)
            if start >= 0:
                assert answer.text[start + len(name) :].startswith(" (")


def test_an_audit_ends_with_few_terms(context, glossary):
    check("\n".join(in_plain_words(context)), glossary, MOST["audit"])


def test_the_readme_has_few_terms_before_ones_own_data(repository, glossary):
    text = (repository / "README.md").read_text().partition("## Use your own data")[0]
    prose = re.sub(r"```.*?```|`[^`]*`|\]\([^)]*\)", " ", text, flags=re.DOTALL)
    check(prose, glossary, MOST["readme"])
