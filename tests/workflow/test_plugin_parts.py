"""Parts of the user's own, most of them those of docs/extending.md, in one file of a whole run."""

import json

import pyarrow.parquet as pq
import pytest
from support import REPOSITORY, TINY
from test_doc_blocks import blocks
from workflow.conftest import planned

pytestmark = pytest.mark.workflow

PLAIN = TINY["models"]["bert_tiny"]
OF_BIOS = {**PLAIN, "datasets": ["bios"]}
NAMES = ("top_share", "he_she", "mean_of_tokens", "long_texts")
OWN = '''
from collections.abc import Sequence

from exparity.artefacts.files import write_artefact


@analysis(
    "test_count",
    level="experiment",
    reads=("tests",),
    writes={"test_counts": Table("tests: int64", keys=("tests",))},
)
def test_count(tests: Sequence[Path], output: Path) -> None:
    """Count the files of tests.

    Args:
        tests: one for each dataset and model.
        output: the artefact to write.
    """
    rows = [{"tests": len(tests)}]
    write_artefact(output, "test_counts", rows, {}, parameters={})
'''
STARTS = tuple(f"{quote}{name}.py" for name in NAMES for quote in ("# ", '"""'))
PAGE = blocks(REPOSITORY / "docs" / "extending.md", "python")
MIRRORED = (REPOSITORY / "tests" / "debiasing" / "mending_plugin.py").read_text()
PLUGIN = "\n".join([*(code for code in PAGE if code.startswith(STARTS)), MIRRORED, OWN])


def code_of(root):
    """Return the project's code: what a part of the user's own must not need to change."""
    files = [f for folder in ("src", "workflow", "profiles") for f in (root / folder).rglob("*")]
    code = [f for f in [root / "Snakefile", *files] if f.is_file() and f.suffix != ".pyc"]
    return {f.relative_to(root).as_posix(): f.read_bytes() for f in code}


def rows_of(finished, path):
    return pq.read_table(finished.results / path, partitioning=None).to_pylist()


def config_with(other):
    """Models of biographies beside that of the pairs, whose label no counterfactual can keep."""
    return {
        "plugins": ["mine.py"],
        "datasets": {**TINY["datasets"], "bios": {"n_biographies": 40}},
        "models": {
            "bert_tiny": {**PLAIN, "datasets": ["pairs_all"]},
            "plain": OF_BIOS,
            "mended": {**other, "debias": {"use": "mirrored", "weight": 0.5}},
        },
        "counterfactuals": {"bios": "he_she"},
        "methods": {"gradient": {}},
        "metrics": {"gini": {}, "top_share": {}},
        "analyses": {"long_texts": {"at_least": 2}, "test_count": None},
        "controls": {"random": {"draws": 0}},
    }


def test_one_file_and_the_config_are_all_it_takes(finished):
    code = code_of(finished.root)
    plugin = finished.root / "mine.py"
    plugin.write_text(PLUGIN)
    other = {**OF_BIOS, "head": "mean_of_tokens"}
    config = config_with(other)
    finished.configure(**config)
    # One new metric of the model of the pairs, and both of the new ones.
    trained = {"prepare": 1, "finetune": 2, "bias": 2, "explain": 2}
    scores = 1 + 2 * 2
    at_the_end = {"cost": 1, "report": 1}
    everything = {
        **trained, "evaluate": scores, "compare": 3, "judge": 1,
        "counterfactuals": 1, "counterfactual_predictions": 2, "long_texts": 2,
        "test_count": 1, **at_the_end,
    }  # fmt: skip
    run = finished.snakemake("--verbose")
    assert planned(run.stderr) == everything
    # Jobs are chosen when one has ended, and not otherwise: Snakemake's default limit of jobs a
    # second makes more and more rounds of scheduling.
    rounds = run.stderr.count("Resources before job selection")
    jobs = sum(everything.values())
    assert jobs / 2 <= rounds <= jobs + 2
    assert finished.plan() == {}
    assert code_of(finished.root) == code

    checkpoints = {name: f"models/bios/{name}/0" for name in ("plain", "mended")}
    made_by = {
        name: {row["made_by"] for row in rows_of(finished, f"{folder}/training_set.parquet")}
        for name, folder in checkpoints.items()
    }
    assert made_by == {"plain": {None}, "mended": {None, "mirrored"}}
    settings = json.loads((finished.results / checkpoints["mended"] / "config.json").read_text())
    assert settings["architectures"] == ["BertForTokenClassification"]
    assert settings["exparity_head"] == "mean_of_tokens"

    scores = rows_of(finished, "scores/bios/mended/0/gradient/top_share.parquet")
    assert all(0 < row["score"] <= 1 for row in scores)
    for dataset in config["datasets"]:
        counted = rows_of(finished, f"long_texts/{dataset}.parquet")
        assert {row["group"]: row["texts"] for row in counted} == {"female": 40, "male": 40}
    (row,) = rows_of(finished, "test_counts.parquet")
    assert row["tests"] == len(config["models"])
    page = (finished.results / "report" / "index.html").read_text()
    assert '<section id="long_texts"' in page
    assert "<li>female: 40</li><li>male: 40</li>" in page
    assert "top_share" in page
    assert "mended" in page
    assert "female,40" in (finished.results / "report" / "tables" / "long_texts.csv").read_text()

    # An option runs what it concerns again, and nothing beside it.
    finished.configure(
        **{**config, "analyses": {**config["analyses"], "long_texts": {"at_least": 3}}}
    )
    assert finished.plan() == {"long_texts": 2, **at_the_end}
    mended = {**other, "debias": {"use": "mirrored", "weight": 2.0}}
    models = {**config["models"], "mended": mended}
    finished.configure(**{**config, "models": models})
    assert finished.plan() == {
        "finetune": 1, "bias": 1, "explain": 1, "evaluate": 2, "compare": 1, "judge": 1,
        "test_count": 1, "counterfactual_predictions": 1, **at_the_end,
    }  # fmt: skip
    # Another source, of all of them at once, leaves the plain models and their explanations alone;
    # not so what is predicted of their counterfactuals, and the bias in it.
    finished.configure(**config)
    plugin.write_text(PLUGIN.replace('"he": "she", ', '"him": "her", '))
    scores = 2 + 2
    again = {**everything, "finetune": 1, "bias": 2, "explain": 1, "evaluate": scores}
    del again["prepare"]
    assert finished.plan() == again
