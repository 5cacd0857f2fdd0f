"""What first users met, each with the test that fails where it still happens.

What another file tests is named in ``newcomers.yaml``; the others are tested here.
"""

import ast
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from made_up import config, make_study, options_of

from exparity.report.gather import gather
from exparity.report.sections.findings import dependence_sentences
from exparity.report.tables import disparity_tables
from exparity.stats.dependence import cramers_v

pytestmark = pytest.mark.contract
ELSEWHERE = yaml.safe_load((Path(__file__).parent / "newcomers.yaml").read_text())


@pytest.mark.parametrize("place", ELSEWHERE.values(), ids=ELSEWHERE)
def test_there_is_a_test(repository, place):
    file, _, name = place.partition("::")
    tree = ast.parse((repository / "tests" / file).read_text())
    assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_the_example_of_the_readme_has_results_of_its_own(repository):
    text = (repository / "README.md").read_text()
    section = text[text.index("## Use your own data") :]
    config = yaml.safe_load(section.partition("```yaml\n")[2].partition("```")[0])
    assert config["results"] not in ("", "results")


@pytest.mark.parametrize(
    ("labels", "warning"),
    [([0, 0, 1, 1], "cannot be told apart"), ([0, 0, 0, 1], "go together"), ([0, 1, 0, 1], None)],
)
def test_label_and_group_that_go_together_are_said_first(labels, warning):
    dependence = {"test": cramers_v(labels * 9, [*"mmff"] * 9)}
    study = SimpleNamespace(
        dependence={"own": dependence},
        display=lambda kind, id: id,
        declared=lambda dataset: SimpleNamespace(groups=("m", "f")),
    )
    sentences = dependence_sentences(study)
    assert len(sentences) == (warning is not None)
    assert all(f"label and group {warning}" in sentence for sentence in sentences)


def test_m6_the_tests_of_a_cell_are_in_the_order_of_their_seeds(tmp_path):
    settings = config(datasets=1, models=1, seeds=3, methods=1, metrics=1)
    make_study(tmp_path, settings)
    study = gather(tmp_path, options_of(settings))
    study.rows.reverse()
    (table,) = disparity_tables(study)
    assert [[row["seed"] for row in rows] for rows in table.tests.values()] == [[0, 1, 2]]


def test_m16_commands_of_the_docs_do_not_write_over_the_demo(repository):
    """Where a config is named, it has results of its own, or they are named."""
    command = re.compile(r"^snakemake (?!-n)(.*--configfile (config/\S+\.yaml).*)$", re.M)
    for page in [repository / "README.md", *(repository / "docs").glob("*.md")]:
        for line, named in command.findall(page.read_text()):
            own = "results" in yaml.safe_load((repository / named).read_text())
            assert own or "results=" in line, (page, line)


def test_m15_wide_formulas_scroll_by_themselves_on_a_phone(repository):
    style = (repository / "docs" / "images" / "site.css").read_text()
    (rule,) = re.findall(r'math\[display="block"\] \{(.*?)\}', style)
    assert "overflow-x: auto" in rule
    assert "block math" in rule  # otherwise formulas are laid out as text
