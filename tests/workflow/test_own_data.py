"""A table and a checkpoint of the user's own, from the README's config to the report."""

import re

import pytest
import yaml
from data.tables import rows_of, write

import exparity

pytestmark = pytest.mark.workflow
VERBS = ("breaks", "works")


def write_table(path, words=("plain", "fine")):
    """Reviews by customers of three regions; what they say follows the label."""
    rows = rows_of(
        60,
        review=lambda i: f"the {words[i % len(words)]} tool number {i} {VERBS[i % 2]} here",
        stars=("bad", "good"),
        region=("north", "south", "west"),
    )
    write(path, rows)


@pytest.fixture
def readme_config(repository) -> str:
    """The config of the README's section on data of one's own."""
    text = (repository / "README.md").read_text()
    section = text[text.index("## Use your own data") :]
    found = re.search(r"```yaml\n(.*?)```", section, re.DOTALL)
    assert found
    return found.group(1)


def test_own_table_and_own_checkpoint(checkout, readme_config, checkpoints):
    assert len([line for line in readme_config.splitlines() if line.strip()]) < 15
    config = yaml.safe_load(readme_config)
    (dataset,), (model,) = config["datasets"].values(), config["models"].values()
    write_table(checkout.root / dataset["path"])
    model["checkpoint"] = checkpoints["roberta"]
    config |= {"report": {"figures": False}, "methods": {"gradient": {}}}
    config["controls"] = {"random": {"draws": 0}}  # what they say is in other tests
    checkout.config_path.write_text(yaml.safe_dump(config))
    checkout.snakemake()
    results = checkout.root / config["results"]
    disparity = exparity.read_results(results, "disparity").query("quantity == 'score'")
    pairs = set(zip(disparity["group_a"], disparity["group_b"], strict=True))
    assert pairs == {("north", "south"), ("north", "west"), ("south", "west")}
    assert len(disparity) == 3 * len(config["methods"]) * len(config["metrics"])
    assert disparity["omnibus_p"].notna().any()
    page = (results / "report" / "index.html").read_text()
    assert "region" in page
    assert "gender" not in page
    assert len(list((results / "report" / "tables").glob("disparity-*.csv"))) == 3
    (checkout.root / dataset["path"]).touch()  # the same content at another time
    assert checkout.plan() == {}
    # A changed table is a changed input.
    write_table(checkout.root / dataset["path"], words=("new",))
    plan = checkout.plan()
    assert plan["prepare"] == 1
    assert plan["finetune"] == 1
    (checkout.root / dataset["path"]).unlink()
    refused = checkout.snakemake("-n", check=2)
    line = next(x for x in refused.stderr.splitlines() if x.startswith("exparity:"))
    assert "datasets." in line
    assert dataset["path"] in line
