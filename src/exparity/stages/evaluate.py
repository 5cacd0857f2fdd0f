"""Stage evaluate: explanations to one score per example."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from exparity.artefacts.files import write_table
from exparity.core.errors import InputError
from exparity.core.flags import (
    Device,
    Gathered,
    Id,
    Output,
    Params,
    Portion,
    Precision,
    Shortcuts,
    TokenBudget,
    ToldCheckpoint,
)
from exparity.core.options import complete
from exparity.core.progress import Progress
from exparity.data.table import read_prepared, sample
from exparity.interface import SPECIAL_WORD, Example, Explanation, Origin
from exparity.jobs.parts import Job, Shard, open_parts
from exparity.methods import METHODS
from exparity.metrics import METRICS, evaluate_keyed, metric_options, shared_sources
from exparity.stages.cell import cell_of, checkpoint_ids, read_examples, require_same_cell
from exparity.stages.shards import gather_shards

log = logging.getLogger(__name__)


def evaluate_cell(
    data: Path,
    explanations: Path,
    checkpoint: ToldCheckpoint | None,
    output: Output,
    *,
    use: Id,
    params: Params,
    metric_id: Id | None = None,
    max_examples: int | None = None,
    precision: Precision = "fp32",
    device: Device = "auto",
    threads: int | None = None,
    token_budget: TokenBudget = None,
    shortcuts: Shortcuts = False,
    shard: Portion = "1/1",
    gather: Gathered = (),
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
        precision: arithmetic of metrics that only ask for probabilities; what takes gradients to
            attribute or to score does so in fp32.
        device: ``auto``, ``cpu`` or ``cuda:N``.
        threads: CPU threads of one operation; torch's choice if None.
        token_budget: padded tokens per batch; by device if None.
        shortcuts: leave out work that cannot reach the output (BERT, RoBERTa, GPT-2).
        shard: share of the examples to score, such as ``2/4`` for the second of four.
        gather: finished shards to put together as ``exparity gather`` does; nothing is computed.

    Raises:
        InputError: bad options or artefacts that do not belong together.
    """
    start = time.monotonic()
    if gather:
        gather_shards(gather, output)
        return
    share = Shard.parse(shard)
    metric_id = metric_id or use
    entry = METRICS.get(use)
    options = complete(metric_options(entry), params, f"metric {metric_id}")
    prepared = read_prepared(data, "test")
    table, metadata = read_examples(explanations, "explanations")
    require_same_cell(
        (data, {"dataset": prepared.dataset}),
        (explanations, cell_of(metadata)),
        (checkpoint or "", checkpoint_ids(checkpoint) if checkpoint else {}),
    )
    rows = {key: row for row, key in enumerate(table.column("example_id").to_pylist())}
    test = {e.example_id: e for e in prepared.split("test")}
    unknown = rows.keys() - test.keys()
    if unknown:
        raise InputError(
            f"{explanations}: example '{min(unknown)}' is not in {data}; explain this data again"
        )
    chosen = sample([e for key, e in test.items() if key in rows], max_examples)
    if entry.facts.needs == "rationale" and all(e.rationale is None for e in chosen):
        raise InputError(
            f"{data}: no example has a rationale, which metric {metric_id} compares explanations "
            "with; leave the metric out for this data"
        )
    runs_model = entry.facts.runs_model
    if runs_model and checkpoint is None:
        raise InputError(f"metric {metric_id}: runs the model; name its --checkpoint")
    origin_of = _origins(metadata)
    explainer = None
    if entry.facts.needs == "explainer":
        call = origin_of("")
        if call is None:
            raise InputError(f"{explanations}: does not say which method made it; explain again")
        explainer = METHODS.get(call.method)
    if entry.facts.needs_gradient or (explainer and explainer.facts.needs_gradient):
        precision = "fp32"
    ids = {**metadata["wildcards"], "metric": metric_id}
    job = Job(
        output,
        "scores",
        "evaluate",
        ids,
        {"use": use, "params": options, "max_examples": max_examples, "precision": precision},
        files=[data, explanations],
        checkpoint=checkpoint if runs_model else None,
        sources=[entry.source, *shared_sources(entry), *([explainer.source] if explainer else [])],
    )
    extra = {
        "groups": list(prepared.groups),
        "attribute": prepared.attribute,
        "flags": metadata.get("flags", []),
        "bounds": entry.facts.bounds,
    }

    passes = entry.facts.passes * (explainer.facts.passes if explainer else 1)
    with open_parts(job, chosen, passes, share, save=runs_model) as parts:
        if parts.finished:
            return
        classifier = None
        if runs_model:  # the others start in a fraction of the time
            from exparity.core.device import give_back_memory, make_repeatable
            from exparity.engine import load_classifier

            make_repeatable(threads)
            classifier = load_classifier(
                str(checkpoint), device, precision, token_budget=token_budget, shortcuts=shortcuts
            )
        todo = parts.todo
        with Progress(sum(map(len, todo.values())), f"evaluating {metric_id}") as progress:
            for position, part in parts.each():
                keys = [e.example_id for e in part]
                wanted = table.take([rows[key] for key in keys]).to_pylist()
                found = [
                    _explanation(e, row, origin_of(e.example_id))
                    for e, row in zip(part, wanted, strict=True)
                ]
                notes: Counter[str] = Counter()
                values = evaluate_keyed(
                    classifier, found, keys, use, int(ids["seed"]), options, notes
                )
                out = [_row(e, value) for e, value in zip(part, values, strict=True)]
                parts.add(position, out, notes=dict(notes))
                if classifier:
                    give_back_memory()
                progress.advance(len(part))
        scores = parts.table()
        noted = sum((Counter(facts["notes"]) for facts in parts.done.values()), Counter[str]())
        undefined = int(np.isnan(scores.column("score").to_numpy()).sum())
        if undefined:
            log.warning(
                "%s is undefined for %d of %d examples", metric_id, undefined, scores.num_rows
            )
        write_table(
            output,
            "scores",
            scores,
            ids,
            stage=job.stage,
            parameters=job.parameters,
            device=str(classifier.device) if classifier else "cpu",
            seconds=time.monotonic() - start,
            extra={
                **extra,
                **parts.provenance,
                **parts.spent(),
                **({"notes": noted} if noted else {}),
            },
        )


def _origins(metadata: Mapping[str, Any]) -> Callable[[str], Origin | None]:
    """Return what tells how an example was explained: a metric may have to do it again."""
    call = metadata.get("parameters", {})
    if "use" not in call or "params" not in call:
        return lambda key: None
    seed = int(metadata["wildcards"]["seed"])
    return lambda key: Origin(call["use"], call["params"], seed, key)


def _row(example: Example, value: float) -> dict[str, Any]:
    return {
        "example_id": example.example_id,
        "group": example.group,
        "match_id": example.match_id,
        "score": float(value),
    }


def _explanation(example: Example, row: Mapping[str, Any], origin: Origin | None) -> Explanation:
    word_ids = np.array(row["word_ids"], dtype=np.int64)
    return Explanation(
        text=example.text,
        target=row["target"],
        token_ids=np.array(row["token_ids"], dtype=np.int64),
        tokens=row["tokens"],
        scores=np.array(row["scores"], dtype=np.float64),
        special_mask=word_ids == SPECIAL_WORD,
        word_ids=word_ids,
        origin=origin,
        rationale=example.rationale,
    )
