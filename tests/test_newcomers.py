"""What first users met at commit e3c3607, each with the test that fails where it still happens.

What another file tests is named in ``ELSEWHERE``; the others are tested here.
"""

from __future__ import annotations

import ast
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

import exparity
from exparity.report.sections.findings import dependence_sentences
from exparity.stats.dependence import cramers_v

pytestmark = pytest.mark.contract
ELSEWHERE = {
    "a run overwrites another's report": (
        "config/test_config.py::test_the_report_of_another_experiment_is_not_overwritten"
    ),
    "LaTeX drops the star of flagged rows": "report/test_report.py::test_latex",
    "a key that is there twice drops metrics": (
        "workflow/test_bad_input.py::test_a_key_twice_is_refused_with_both_lines"
    ),
    "plan needs raw data": "tools/test_plan.py::test_without_raw_files_where_sizes_are_known",
    "plan knows no --config": "tools/test_plan.py::test_a_config_as_snakemake_takes_it",
    "a metric that does not apply refuses the config": (
        "config/test_applies.py::test_metrics_that_need_it_leave_the_dataset_out_with_a_line"
    ),
    "a dry run of the published grid has a line of 860,467 characters": (
        "workflow/test_paper.py::test_the_whole_grid_is_planned_in_seconds_without_data_or_network"
    ),
    "the heat map hides seeds of opposite sign": (
        "report/test_page.py::test_filters_and_corrections"
    ),
    "a table's head does not stick": "report/test_page.py::test_heads_stay_where_a_table_scrolls",
    "the address never changes": "report/test_page.py::test_the_address_carries_choices_and_cell",
    "nothing can be sorted": "report/test_page.py::test_a_column_sorts_its_table",
    "nothing can be copied": "report/test_page.py::test_a_table_is_copied_as_it_is_shown",
    "the page is 14,808 px tall": "report/test_page.py::test_a_page_of_the_demos_size_is_short",
    "an auditor cannot explain all rows": "tools/test_audit.py::test_every_row_is_explained",
    "classes of checkpoint and data disagree without a word": (
        "tools/test_audit.py::test_what_is_wrong_is_said_before_any_job"
    ),
    "a missing column ends a job": (
        "config/test_config.py::test_columns_of_a_table_are_looked_for_before_any_job"
    ),
}


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


def test_special_tokens_of_an_explanation_by_hand_are_known_to_the_model(classifiers):
    classifier = classifiers["bert"]
    (made,) = exparity.explain(classifier, ["She wrote it ."], targets=[0], method="gradient")
    by_hand = exparity.Explanation(
        text=made.text,
        target=made.target,
        token_ids=made.token_ids,
        tokens=made.tokens,
        scores=made.scores,
    )
    for metric in ("gini", "comprehensiveness"):
        one, other = (exparity.evaluate(classifier, [e], metric) for e in (made, by_hand))
        np.testing.assert_array_equal(one, other)


def test_a_string_is_one_text(classifiers):
    (made,) = exparity.explain(classifiers["bert"], "Hello", targets=0, method="gradient")
    assert made.text == "Hello"


def test_a_model_without_its_tokenizer_is_refused_by_name(classifiers):
    with pytest.raises(exparity.InputError, match="tokenizer"):
        exparity.load_classifier(classifiers["bert"].model, device="cpu")
