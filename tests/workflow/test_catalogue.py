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


def test_every_part_of_a_snakemake_report_has_a_caption(repository):
    rules = (repository / "workflow" / "rules" / "report.smk").read_text()
    assert rules.count("report(") == rules.count("caption=") == 3
    for caption in ("page", "table", "figure", "workflow"):
        assert (repository / "workflow" / "report" / f"{caption}.rst").read_text().strip()
