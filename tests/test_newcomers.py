"""What first users met, each with the test that fails where it still happens.

What another file tests is named in ``ELSEWHERE``; the others are tested here.
"""

from __future__ import annotations

import ast
import re
from types import SimpleNamespace

import pytest
import yaml
from made_up import config, make_study, options_of

from exparity.report.gather import gather
from exparity.report.sections.findings import dependence_sentences
from exparity.report.tables import disparity_tables
from exparity.stats.dependence import cramers_v

pytestmark = pytest.mark.contract
ELSEWHERE = {
    "m1, m2 a config is not answered with what to write": (
        "config/test_config.py::test_by_name_and_with_a_remedy"
    ),
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
    "M1 the demo has no finding": "test_docs.py::test_the_default_experiment_shows_what_it_planted",
    "M2 no gap, and not how large one would have been found": (
        "report/test_findings.py::test_the_words_are_those_that_were_read"
    ),
    "M3 nine groups drown the first screen": "report/test_page.py::test_the_page_is_short",
    "M4 samples are not balanced by group": (
        "data/test_datasets.py::test_m4_sets_within_a_group_are_balanced"
    ),
    "M5 impossible numbers at equal confidence": (
        "stats/test_adjusted.py::test_m5_no_gap_is_larger_than_the_metric_allows"
    ),
    "M6 compare dies on a metric of a plug-in": (
        "tools/test_compare.py::test_d13_a_run_with_plugins_is_compared_without_them"
    ),
    "M7 the author of a gradient method is alone": (
        "methods/test_gradients.py::test_gradients_equal_those_of_float64_in_the_order_of_the_texts"
    ),
    "M8 a mistyped path asks the Hub for minutes": (
        "models/test_checkpoints.py::test_m8_the_hub_is_asked_once_for_what_is_no_folder"
    ),
    "M9 show has no verdicts": "tools/test_show.py::test_every_cell_has_its_verdict",
    "M10 a model that no job can build passes the plan": (
        "models/test_architectures.py::test_m10_models_that_cannot_be_built"
    ),
    "m3 semicolons": "data/test_own_table.py::test_m3_another_separator",
    "m3 text and label swapped": "data/test_own_table.py::test_m3_swapped_text_and_label",
    "m4 a collapsed classifier has no gaps": (
        "report/test_findings.py::test_the_words_are_those_that_were_read"
    ),
    "m6, m7 columns are cut": (
        "report/test_page.py::test_no_column_is_cut_and_a_phone_scrolls_tables_alone"
    ),
    "m9 commands take paths in two ways": "test_cli.py::test_m9_a_path_may_come_first",
    "m10 jobs are counted in two ways": "tools/test_plan.py::test_an_experiment_that_never_ran",
    "m11 classes by hand go by number": "methods/test_gradients.py::test_a_class_goes_by_its_name",
    "m14 compare prints whole settings": (
        "tools/test_compare.py::test_m14_of_a_model_the_keys_that_differ_are_named"
    ),
    "m17 an audit prints 220 lines": "tools/test_audit.py::test_every_row_is_explained",
    "m18 34 commands in one list": "test_cli.py::test_of_the_whole_lists_every_command",
    "p1 flags that say the opposite": "test_cli.py::test_p1_flags_say_what_they_do",
    "special tokens of an explanation by hand count as words": (
        "core/test_calls.py::test_which_tokens_are_special_is_derived_or_asked_for"
    ),
    "a string is as many texts as letters": (
        "core/test_calls.py::test_one_text_and_targets_by_name"
    ),
    "a model without its tokenizer dies late": (
        "core/test_calls.py::test_what_newcomers_pass_for_a_classifier_or_explanations"
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
