"""Exact explanations of a function whose weights are known: whole runs, their tables and words."""

import subprocess
import sys

import pytest
from stages.test_known_truth import write_texts, write_weights

import exparity
from exparity.stages.prepare import prepare
from exparity.tools.show import show

pytestmark = pytest.mark.workflow
LENGTHS = {"first": 12, "second": 12}


@pytest.fixture
def texts(checkout):
    """Options of a table of texts in a checkout that has the function, too."""
    options = write_texts(checkout.root, "linear", LENGTHS)
    return {"use": "table", **options}


@pytest.fixture
def shown(capsys):
    """Return a function: what exparity show prints of results."""

    def say(results):
        capsys.readouterr()
        show(results)
        return capsys.readouterr().out

    return say


def standing(results):
    rows = exparity.read_results(results, "verdicts").query("stands")
    return rows[~rows["quantity"].str.startswith("random")]


@pytest.mark.exhaustive
def test_weights_of_all_words_and_of_the_first_are_equivalent(checkout, texts, shown):
    data = checkout.root / "texts.parquet"
    params = {name: value for name, value in texts.items() if name != "use"}
    prepare(data, use="table", params=params, data_dir=checkout.root, dataset_id="texts")
    write_weights(data, checkout.root / "exact.jsonl")
    write_weights(data, checkout.root / "top_1.jsonl", keep=1)
    checkout.configure(
        datasets={"texts": texts},
        models={"mine": {"predict": "truth_linear:predict", "classes": ["no", "yes"]}},
        training={},
        methods={name: {"use": "imported", "path": f"{name}.jsonl"} for name in ("exact", "top_1")},
        metrics={"comprehensiveness": {}, "forward_simulation": {}},
        controls={"reference": {"enabled": True}, "random": {"draws": 2}},
    )
    checkout.snakemake()
    rows = standing(checkout.results).set_index(["method", "metric"])
    for method in ("exact", "top_1"):
        skill = rows.loc[method, "comprehensiveness"]
        assert (skill.skill_a, skill.skill_b) == pytest.approx((1, 1), abs=1e-5)
        assert skill.verdict == "equivalent"
    foreseen = rows.loc["exact", "forward_simulation"]
    assert (foreseen.mean_a, foreseen.mean_b) == pytest.approx((1, 1), abs=1e-5)
    assert foreseen.verdict == "equivalent"
    assert (rows["verdict"] != "different").all()
    words = shown(checkout.results)
    assert "By other measures, 2 of 2 are clear: 2 equivalent." in words
    assert "different" not in words
    paragraph = (checkout.results / "report" / "paragraph.txt").read_text()
    assert "By the other metrics, of 2 comparisons 2 (2) are equivalent." in paragraph
    assert "different" not in paragraph


@pytest.mark.exhaustive
def test_an_audit_of_the_function_names_no_group(checkout, texts, shown):
    command = (
        "audit --table texts.csv --text text --label label --group group --labels no yes "
        "--predict truth_linear:predict --methods occlusion --cores 2 "
        "--metrics forward_simulation comprehensiveness --results audited"
    )
    run = subprocess.run(
        [sys.executable, "-m", "exparity", *command.split()],
        cwd=checkout.root, env=checkout.environment, capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    words = shown(checkout.root / "audited")
    assert "equivalent" in words
    assert "different" not in run.stdout + words
    rows = standing(checkout.root / "audited").set_index("metric")
    assert rows.loc["comprehensiveness", "skill_a"] == pytest.approx(1, abs=1e-5)
    assert rows.loc["comprehensiveness", "skill_b"] == pytest.approx(1, abs=1e-5)
    assert rows.loc["comprehensiveness", "verdict"] == "equivalent"
