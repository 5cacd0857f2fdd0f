"""Parts of the user's own, all in one file: in the DAG, the results and the report."""

import json

import pyarrow.parquet as pq
import pytest
from support import TINY

pytestmark = pytest.mark.workflow

PLUGIN = '''"""A metric, two analyses, an intervention, a counterfactual generator and a head."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from exparity.analyses import Export, Findings, StageResult, Table, analysis, fields
from exparity.artefacts.files import read_artefact, write_artefact
from exparity.counterfactuals import counterfactual
from exparity.debiasing import intervention
from exparity.metrics import metric
from exparity.models.heads import Head, head

SWAPPED = {"he": "she", "she": "he", "He": "She", "She": "He"}


@head("mean_of_tokens", auto="AutoModelForTokenClassification", reference="a test")
class MeanOfTokens(Head):
    """The mean of the logits of all tokens."""

    def logits(self, model, batch):
        rows, mask = batch.embeddings, batch.mask
        return mean(model(inputs_embeds=rows, attention_mask=mask).logits, mask)

    def plain_logits(self, model, **inputs):
        return model(**inputs).logits.mean(1)

    def trained(self, model, *, scratch):
        import torch
        from transformers.modeling_outputs import SequenceClassifierOutput

        class Trained(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.model = model

            def forward(self, input_ids, attention_mask, labels):
                output = self.model(input_ids=input_ids, attention_mask=attention_mask)
                logits = mean(output.logits, attention_mask)
                loss = torch.nn.functional.cross_entropy(logits, labels)
                return SequenceClassifierOutput(loss=loss, logits=logits)

        return Trained()


def mean(logits, mask):
    if mask is None:
        return logits.mean(1)
    shares = mask / mask.sum(1, keepdim=True)
    return (logits * shares[..., None]).sum(1)


@counterfactual("he_she", reference="a test", groups=("male", "female"))
def he_she(example, group, data):
    """Swap he and she."""
    words = tuple(SWAPPED.get(word, word) for word in example.words)
    return None if words == example.words else replace(example, words=words, group=group)


@intervention("mirrored", reference="a test", needs_counterfactuals=True)
def mirrored(training_set, *, weight: float = 1.0):
    """Add every counterfactual that there is."""
    added = [c for e in training_set.examples for c in training_set.counterfactuals(e)]
    weights = np.append(training_set.weights, np.full(len(added), weight))
    return replace(training_set, examples=[*training_set.examples, *added], weights=weights)


@metric(
    "strongest",
    direction="higher",
    bounds=(0.0, 1.0),
    unit="share",
    kind="complexity",
    needs="attributions",
    stochastic=False,
    reference="a test",
)
def strongest(scores: np.ndarray, content_mask: np.ndarray) -> np.ndarray:
    """Share of the attribution that the strongest content token holds."""
    magnitude = np.where(content_mask, np.abs(scores), 0.0)  # (n, t)
    return magnitude.max(1) / magnitude.sum(1)


def say(rows, study, options):
    columns = pa.schema({"dataset": pa.string(), "group": pa.string(), "texts": pa.int64()})
    return Findings({"rows": rows}, [Export("lengths", "Long texts", columns, rows)])


COLUMNS = Table(fields(("group", pa.string()), ("texts", pa.int64())), keys=("group",))


@analysis(
    "length",
    level="dataset",
    reads=("data",),
    writes={"lengths": COLUMNS},
    section=say,
    template="<p class=lengths>{% for r in rows %}{{ r.group }} {{ r.texts }};{% endfor %}</p>",
)
def length(data: Path, *, at_least: int = 1) -> StageResult:
    """Count the texts of each group that are long.

    Args:
        data: the data artefact.
        at_least: fewest words of a long text.
    """
    table, metadata = read_artefact(data, "data")
    groups = [row["group"] for row in table.to_pylist() if len(row["words"]) >= at_least]
    rows = [{"group": group, "texts": groups.count(group)} for group in set(groups)]
    return StageResult(rows, metadata["wildcards"])


@analysis(
    "test_count",
    level="experiment",
    reads=("tests",),
    writes={"test_counts": Table(fields(("tests", pa.int64())), keys=("tests",))},
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


def code_of(root):
    """Return the project's code: what a part of the user's own must not need to change."""
    files = [f for folder in ("src", "workflow", "profiles") for f in (root / folder).rglob("*")]
    code = [f for f in [root / "Snakefile", *files] if f.is_file() and f.suffix != ".pyc"]
    return {f.relative_to(root).as_posix(): f.read_bytes() for f in code}


def rows_of(finished, path):
    return pq.read_table(finished.results / path, partitioning=None).to_pylist()


def test_one_file_and_the_config_are_all_it_takes(finished):
    code = code_of(finished.root)
    plugin = finished.root / "mine.py"
    plugin.write_text(PLUGIN)
    plain = TINY["models"]["bert_tiny"]
    # Two biographies' models beside that of the pairs, whose label no counterfactual can keep.
    of_bios = {**plain, "datasets": ["bios"]}
    other = {**of_bios, "head": "mean_of_tokens"}
    config = {
        "plugins": ["mine.py"],
        "datasets": {**TINY["datasets"], "bios": {"n_biographies": 40}},
        "models": {
            "bert_tiny": {**plain, "datasets": ["pairs_all"]},
            "plain": of_bios,
            "mended": {**other, "debias": {"use": "mirrored", "weight": 0.5}},
        },
        "counterfactuals": {"bios": "he_she"},
        "methods": {"gradient": {}},
        "metrics": {"gini": {}, "strongest": {}},
        "analyses": {"length": {"at_least": 2}, "test_count": None},
        "controls": {"random": {"draws": 0}},
    }
    finished.configure(**config)
    # One new metric of the model of the pairs, and both of the new ones.
    trained = {"prepare": 1, "finetune": 2, "bias": 2, "explain": 2}
    scores = 1 + 2 * 2
    at_the_end = {"cost": 1, "report": 1}
    everything = {
        **trained, "evaluate": scores, "compare": 3, "judge": 1,
        "counterfactuals": 1, "counterfactual_predictions": 2, "length": 2,
        "test_count": 1, **at_the_end,
    }  # fmt: skip
    assert finished.plan() == everything
    # Jobs are chosen when one has ended, and not otherwise: Snakemake's default limit of jobs a
    # second makes more and more rounds of scheduling.
    rounds = finished.snakemake("--verbose").stderr.count("Resources before job selection")
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

    scores = rows_of(finished, "scores/bios/mended/0/gradient/strongest.parquet")
    assert all(0 < row["score"] <= 1 for row in scores)
    for dataset in config["datasets"]:
        counted = rows_of(finished, f"lengths/{dataset}.parquet")
        assert {row["group"]: row["texts"] for row in counted} == {"female": 40, "male": 40}
    (row,) = rows_of(finished, "test_counts.parquet")
    assert row["tests"] == len(config["models"])
    page = (finished.results / "report" / "index.html").read_text()
    assert '<section id="length"' in page
    assert "female 40;male 40;" in page
    assert "strongest" in page
    assert "mended" in page
    assert "female,40" in (finished.results / "report" / "tables" / "lengths.csv").read_text()

    # An option runs what it concerns again, and nothing beside it.
    finished.configure(**{**config, "analyses": {**config["analyses"], "length": {"at_least": 3}}})
    assert finished.plan() == {"length": 2, **at_the_end}
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
