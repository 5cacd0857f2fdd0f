"""What the Snakemake workflow catalogue asks of workflows of standardized usage."""

import yaml

STACKS = {"conda", "apptainer", "apptainer+conda"}


def test_the_conditions_of_standardized_usage(repository):
    readme = (repository / "README.md").read_text().lower()
    assert "snakemake" in readme
    assert "workflow" in readme
    assert (repository / "workflow" / "Snakefile").is_file()
    assert list((repository / "workflow" / "rules").glob("*.smk"))
    assert (repository / "config" / "README.md").read_text().strip()
    assert (repository / ".test" / "config" / "config.yaml").is_file()
    usage = yaml.safe_load((repository / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert usage["mandatory-flags"]["flags"] == ""
    assert usage["software-stack-deployment"].keys() == STACKS
    assert usage["report"] is True
