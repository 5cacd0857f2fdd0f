"""The configs that come with exparity, planned as they are."""

import re

import pytest
from support import REAL, REPOSITORY

pytestmark = pytest.mark.workflow
CONFIGS = sorted(path.stem for path in (REPOSITORY / "config").glob("*.yaml"))
# The one with raw files that are not all verified.
QUICK = ("ferret",)
ROW = re.compile(r"^\| \[`(\w[\w-]*)\.yaml`\].*?\| ([\d,]+) \| [^|]* \|$", re.MULTILINE)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.exhaustive) for name in CONFIGS],
)
def test_a_dry_run_counts_the_jobs_that_the_table_of_configs_names(checkout, name):
    table = dict(ROW.findall((REPOSITORY / "config" / "README.md").read_text()))
    assert sorted(table) == CONFIGS
    checkout.config_path.write_text((REPOSITORY / "config" / f"{name}.yaml").read_text())
    run = checkout.snakemake("-n", "--quiet", "rules", "--config", f"data_dir={REAL}")
    counted = re.search(r"^total +(\d+)$", run.stdout + run.stderr, re.MULTILINE)
    assert counted
    assert int(counted[1]) == int(table[name].replace(",", ""))
