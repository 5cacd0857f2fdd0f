"""Stage evaluate: explanations to one score per example."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from exparity.artefacts.schemas import CUT_TEXTS
from exparity.core import flags
from exparity.core.device import Inference
from exparity.core.errors import InputError
from exparity.core.options import complete
from exparity.core.registry import Entry
from exparity.data.table import PreparedData, read_prepared, sample
from exparity.explanations import Explanation
from exparity.jobs.loop import Chunks, Compute, load, run
from exparity.jobs.parts import Job, Shard
from exparity.methods import METHODS
from exparity.methods.facts import MethodFacts
from exparity.metrics import METRICS, SHARED_SOURCES, evaluate_keyed, mean_length, metric_options
from exparity.metrics.facts import MetricFacts
from exparity.stages.cell import cell_of, checkpoint_ids, key_of, read_examples, require_same_cell
from exparity.stages.counterfactuals import ChangedWords, n_unchanged, read_changed_words
from exparity.stages.shards import gather_shards
from exparity.types import BoolArray, Example, Origin

if TYPE_CHECKING:
    from exparity.engine.classifier import Classifier
    from exparity.methods.facts import MethodFacts

log = logging.getLogger(__name__)


def evaluate_cell(
    data: Path,
    explanations: Path,
    checkpoint: flags.ToldCheckpoint | None,
    output: flags.Output,
    *,
    use: flags.Id,
    params: flags.Params,
    metric_id: flags.Id | None = None,
    max_examples: int | None = None,
    machine: Inference = Inference(),
    shard: flags.Portion = "1/1",
    gather: flags.Gathered = (),
    counterfactuals: Sequence[Path] | None = None,
) -> None:
    """Score explanations with one metric.

    Finished parts of a long job lie in ``<output>.parts`` and are taken over by the next call with
    the same inputs, parameters and code.

    Args:
        data: the data artefact.
        explanations: the explanations artefact.
        checkpoint: folder of the explained classifier, for metrics that run it.
        output: the scores artefact to write.
        use: metric, as registered; see ``exparity list``.
        params: option of the metric.
        metric_id: name of the instance; as ``use`` if None.
        max_examples: size of a deterministic sample; all if None.
        machine: where and how the model is run.
        shard: share of the examples to score, such as ``2/4`` for the second of four.
        gather: finished shards to put together as ``exparity gather`` does; nothing is computed.
        counterfactuals: the dataset's counterfactuals artefact, for metrics that need one.

    Raises:
        InputError: bad options or artefacts that do not belong together.
    """
    if gather:
        gather_shards(gather, output)
        return
    start, share = time.monotonic(), Shard.parse(shard)
    metric_id = metric_id or use
    entry = METRICS.get(use)
    options = complete(metric_options(entry), params, f"metric {metric_id}")
    prepared, table, metadata = _read(data, explanations, checkpoint)
    chosen = _chosen(prepared, table, max_examples, explanations, data)
    changed = read_changed_words(counterfactuals or (), chosen, data, prepared.dataset)
    check_needs(entry, metric_id, chosen, data, checkpoint, changed)
    explainer = _explainer(metadata, explanations) if entry.facts.needs == "explainer" else None
    loader = partial(load, checkpoint, machine)
    job = Job(
        output,
        "scores",
        "evaluate",
        {**metadata["wildcards"], "metric": metric_id},
        {
            "use": use,
            "params": options,
            "max_examples": max_examples,
            "precision": machine.precision,
        },
        files=[data, explanations, *(counterfactuals or ())],
        checkpoint=checkpoint if entry.facts.runs_model else None,
        sources=[entry.source, *SHARED_SOURCES, *([explainer.source] if explainer else [])],
        passes=entry.facts.passes * (explainer.facts.passes if explainer else 1),
        load=loader if entry.facts.runs_model else None,
        doing=f"evaluating {metric_id}",
        known={
            "groups": list(prepared.groups),
            "attribute": prepared.attribute,
            "flags": metadata.get("flags", []),
            "bounds": entry.facts.bounds_with(params),
        },
        since=start,
    )
    of_data = _of_dataset(options, prepared) if entry.facts.needs == "rationale" else options
    scored = run(job, chosen, partial(_evaluating, job, of_data, table, metadata, changed), share)
    scores = scored.column("score").to_numpy() if scored else np.zeros(0)
    if np.isnan(scores).any():
        undefined = int(np.isnan(scores).sum())
        log.warning("%s is undefined for %d of %d examples", metric_id, undefined, len(scores))


def _read(
    data: Path, explanations: Path, checkpoint: Path | None
) -> tuple[PreparedData, pa.Table, dict[str, Any]]:
    prepared = read_prepared(data, "test")
    table, metadata = read_examples(explanations, "explanations")
    require_same_cell(
        (data, {"dataset": prepared.dataset}),
        (explanations, cell_of(metadata)),
        (checkpoint or "", checkpoint_ids(checkpoint) if checkpoint else {}),
    )
    return prepared, table, metadata


def check_needs(
    entry: Entry[MetricFacts],
    metric_id: str,
    examples: Sequence[Example],
    data: Path,
    checkpoint: Path | None,
    changed: ChangedWords,
) -> None:
    """Check that there is what a metric works with."""
    if entry.facts.needs == "rationale" and all(e.rationale is None for e in examples):
        raise InputError(
            f"{data}: no example has a rationale, which metric {metric_id} compares explanations "
            "with; leave the metric out for this data"
        )
    if entry.facts.needs == "counterfactual" and examples and not changed:
        raise InputError(
            f"{data}: no example has a counterfactual, which metric {metric_id} asks for words "
            "that it changes; name the artefact with --counterfactuals"
        )
    if entry.facts.runs_model and checkpoint is None:
        raise InputError(f"metric {metric_id}: runs the model; name its --checkpoint")


def _of_dataset(options: Mapping[str, Any], prepared: PreparedData) -> dict[str, Any]:
    """Return options with the mean length of a dataset's rationales where that is asked for.

    It is that of the whole test split: a part of it, or a sample, has another.
    """
    rationales = [example.rationale or () for example in prepared.split("test")]
    settled = {"top_k": mean_length([sum(marks) for marks in rationales])}
    return {**options, **(settled if options.get("top_k") == "mean" else {})}


def _evaluating(
    job: Job,
    options: Mapping[str, Any],
    explained: pa.Table,
    metadata: Mapping[str, Any],
    changed: ChangedWords,
    classifier: Classifier | None,
    chunks: Chunks,
    afresh: bool,
) -> Compute:
    """Return what scores the explanations of a part."""
    positions = {key: at for at, key in enumerate(explained.column("example_id").to_pylist())}
    use, seed = job.parameters["use"], int(job.ids["seed"])

    def compute(part: Sequence[Example]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        keys = [example.example_id for example in part]
        stored = explained.take([positions[key] for key in keys]).to_pylist()
        explanations = [
            _explanation(
                example, row, _origin(metadata, example.example_id), changed.get(example.example_id)
            )
            for example, row in zip(part, stored, strict=True)
        ]
        notes: Counter[str] = (
            Counter(unchanged=n_unchanged(changed, part)) if changed else Counter()
        )
        values = evaluate_keyed(classifier, explanations, keys, use, seed, dict(options), notes)
        scores = [
            {**key_of(example), "score": float(value)}
            for example, value in zip(part, values, strict=True)
        ]
        cut = _n_cut(part, explanations) if metadata.get("n_truncated") else 0
        if not cut:
            return scores, {"notes": dict(notes)}
        flags = sorted({*metadata.get("flags", ()), CUT_TEXTS})
        return scores, {"notes": {**notes, CUT_TEXTS: cut}, "flags": flags}

    return compute


def _n_cut(examples: Sequence[Example], explanations: Sequence[Explanation]) -> int:
    """Return the number of texts whose last words no token belongs to, since they were cut."""
    cut = 0
    for example, explanation in zip(examples, explanations, strict=True):
        assert explanation.word_ids is not None
        # Of a pair, either text may be cut.
        last_words = {len(example.words) - 1, len(example.all_words) - 1}
        cut += not last_words <= set(explanation.word_ids.tolist())
    return cut


def _chosen(
    prepared: PreparedData,
    explained: pa.Table,
    max_examples: int | None,
    explanations: Path,
    data: Path,
) -> list[Example]:
    """Return the examples to score."""
    keys = set(explained.column("example_id").to_pylist())
    test = prepared.split("test")
    unknown = keys - {example.example_id for example in test}
    if unknown:
        raise InputError(
            f"{explanations}: example '{min(unknown)}' is not in {data}; explain this data again"
        )
    return sample([example for example in test if example.example_id in keys], max_examples)


def _explainer(metadata: Mapping[str, Any], explanations: Path) -> Entry[MethodFacts]:
    """Return the method that made explanations."""
    origin = _origin(metadata, "")
    if origin is None:
        raise InputError(f"{explanations}: does not say which method made it; explain again")
    return METHODS.get(origin.method)


def _origin(metadata: Mapping[str, Any], key: str) -> Origin | None:
    """Return how an example was explained, if that is known: a metric may have to do it again."""
    call = metadata.get("parameters", {})
    if "use" not in call or "params" not in call:
        return None
    return Origin(call["use"], call["params"], int(metadata["wildcards"]["seed"]), key)


def _explanation(
    example: Example, row: Mapping[str, Any], origin: Origin | None, changed: BoolArray | None
) -> Explanation:
    word_ids = np.array(row["word_ids"], dtype=np.int64)
    return Explanation(
        text=example.text,
        target=row["target"],
        token_ids=np.array(row["token_ids"], dtype=np.int64),
        tokens=row["tokens"],
        scores=np.array(row["scores"], dtype=np.float64),
        special_mask=word_ids < 0,
        word_ids=word_ids,
        origin=origin,
        rationale=example.rationale,
        changed_words=changed,
        pair=example.pair,
    )
