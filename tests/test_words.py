"""How many of the glossary's terms a reader meets first: on the page, in README, after an audit.

Those of the glossary's second part may not be there; of the first part there may be a few. And no
sentence of the product or its docs calls explanations better: by removal the skill or the scores
differ, and complexity says whose explanations are more concentrated.
"""

import ast
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


CLAIM = re.compile(
    r"\bexplain(?:ed|s) (?:better|worse)\b|\b(?:better|worse)[ -]explained\b"
    r"|\b(?:better|worse) explanations\b|\bexplanations are (?:better|worse)\b",
    re.IGNORECASE,
)
DENIED = ("do not say that ", "not whose ", "no number here says whose ")
"""What stands before a claim that a sentence warns of."""
SIMULATED = {"calibration.md", "decisions.md"}
"""Pages on settings in which one group's explanations are worse by construction."""
RESOURCES = {".html", ".j2", ".js", ".toml", ".yaml"}


def claims_in(text):
    """The sentences that call explanations better or worse, but for warnings of that."""
    return [
        sentence
        for sentence in re.split(r"(?<=[.:;]) ", " ".join(text.split()))
        for claim in CLAIM.finditer(sentence)
        if not sentence[: claim.start()].lower().endswith(DENIED)
        and not sentence.lower().startswith(DENIED)
    ]


def strings_in(source):
    """The strings of a module but docstrings, with blanks for what is filled in."""
    nodes = [*ast.walk(ast.parse(source))]
    described = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    joined = [node.values for node in nodes if isinstance(node, ast.JoinedStr)]
    parts = {id(part) for values in joined for part in values} | described
    for values in joined:
        yield "".join(part.value if isinstance(part, ast.Constant) else " " for part in values)
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.value


def test_claims_are_found_and_warnings_of_them_are_not():
    said = "Texts of men are explained better. He says so: women have the worse explanations."
    assert len(claims_in(said)) == 2
    assert not claims_in("Do not say that male texts are explained better because of it.")
    assert not claims_in("Skill differs, and not whose explanations are better.")
    module = "def f(who):\n    'Is explained better.'\n    return f'{who} are explained better'\n"
    assert [text for text in strings_in(module) if claims_in(text)] == ["  are explained better"]


def test_no_sentence_of_the_product_calls_explanations_better(repository):
    package = repository / "src" / "exparity"
    modules = [*package.rglob("*.py")]
    said = [text for module in modules for text in strings_in(module.read_text())]
    said += [file.read_text() for file in package.rglob("*") if file.suffix in RESOURCES]
    assert len(modules) > 100
    assert any("foresee the classifier better" in text for text in said)
    assert [claim for text in said for claim in claims_in(text)] == []


def test_no_sentence_of_the_docs_calls_explanations_better(repository):
    pages = [*(repository / "docs").glob("*.md"), *repository.glob("*.md")]
    pages = [page for page in pages if page.name not in SIMULATED]
    assert len(pages) > 20
    assert [claim for page in pages for claim in claims_in(page.read_text())] == []
