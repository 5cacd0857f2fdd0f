"""A dataset that `exparity generate` makes, from the sentences of the docs to the correctness."""

import re

import pytest
import yaml

import exparity

pytestmark = pytest.mark.workflow


@pytest.fixture
def section(repository) -> str:
    """The section of the docs on a dataset of one's own sentences."""
    text = (repository / "docs" / "gecobench.md").read_text()
    start = text.index("## A dataset of your own sentences")
    return text[start : text.index("\n## ", start)]


def block(section: str, language: str) -> str:
    """Return the first block of code in a language."""
    found = re.search(rf"```{language}\n(.*?)```", section, re.DOTALL)
    assert found
    return found.group(1)


@pytest.mark.exhaustive
def test_a_generated_dataset_runs_with_the_analyses_of_correctness(
    checkout, section, run, monkeypatch
):
    monkeypatch.chdir(checkout.root)
    exec(compile(block(section, "python"), "gecobench.md", "exec"), {})
    generate = next(line for line in block(section, "bash").splitlines() if "generate" in line)
    code, said, errors = run(*generate.split()[1:])
    assert code == 0, errors
    assert "60 matched sets of male, female: 120 texts" in said
    config = yaml.safe_load(block(section, "yaml"))
    config |= {"report": {"figures": False}, "controls": {"random": {"draws": 0}}}
    del config["metrics"]["mass_accuracy"]  # one metric is enough here
    checkout.config_path.write_text(yaml.safe_dump(config))
    checkout.snakemake()
    results = checkout.root / config["results"]
    data = exparity.read_results(results, "data")
    assert len(data) == 120
    assert (data.groupby("match_id")["split"].nunique() == 1).all()
    correctness = exparity.read_results(results, "correctness").query(
        "metric == 'rationale_roc_auc' and subset == 'all' and group == ''"
    )
    means = correctness.set_index("method")["mean"]
    assert means["gradient_x_input"] > 0.9
    assert means["gradient_x_input"] > means["uniform_random"] + 0.2
    differences = exparity.read_results(results, "attribution_differences")
    assert {"his", "king", "he"} <= set(differences["word_a"].dropna().str.lower())
