"""Stage negative_control: random explanations of a classifier, scored with one metric."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import pyarrow as pa

from exparity.artefacts.analyses import ExperimentView
from exparity.artefacts.columns import KEY, fields
from exparity.artefacts.running import analysis
from exparity.core import flags
from exparity.core.device import Inference
from exparity.core.digest import source_digest
from exparity.core.errors import InputError
from exparity.core.flags import Range
from exparity.core.options import complete
from exparity.core.seeding import derive_seed
from exparity.explanations import Explanation
from exparity.jobs.loop import Chunks, Compute, load, run
from exparity.jobs.parts import Job
from exparity.methods import METHODS, explain_encodings
from exparity.metrics import METRICS, SHARED_SOURCES, evaluate_keyed, metric_options
from exparity.stages.cell import key_of
from exparity.stages.counterfactuals import ChangedWords, read_changed_words
from exparity.stages.evaluate import check_needs
from exparity.stages.explain import choose, encode, encode_checked, read_predicted
from exparity.types import Encoding, Example

if TYPE_CHECKING:
    from exparity.engine.classifier import Classifier

_METHOD = "uniform_random"

MetricParams = Annotated[Mapping[str, Any], flags.Flag(name="metric-param")]


def _settle(experiment: ExperimentView, ids: Mapping[str, Any]) -> dict[str, Any] | None:
    """Take the options of the metric, and what of the explanations decides on their texts.

    Texts that no method explains are not scored: on more texts than explanations have, random ones
    would differ more often. A metric that runs the method again is left out: what is drawn does not
    depend on the model's input, so that there is nothing for it to measure.
    """
    draws = experiment.config["controls"]["random"]["draws"]
    if not draws or experiment.metrics[ids["metric"]].entry.facts.needs == "explainer":
        return None
    scoring = experiment.scoring(ids)
    sizes = [scoring["max_examples"], experiment.most_explained(ids)]
    return {
        **scoring,
        "max_examples": min((size for size in sizes if size is not None), default=None),
        "digest": f"{scoring['digest']}{source_digest(METHODS.get(_METHOD).source)}",
        "draws": draws,
        "target": experiment.config["target"],
        "examples": experiment.config["examples"],
    }


@analysis(
    "negative_control",
    level="metric",
    reads=("data", "models", "predictions", "counterfactuals"),
    only_for={"counterfactuals": "counterfactual"},
    artefact="random_scores",
    columns=KEY + fields(("draw", pa.int16()), ("score", pa.float64())),
    keys=("example_id", "draw"),
    display="Random explanations",
    runs_model=True,
    block="controls.random",
    memory_mb=8000,
    minutes=240,
    settle=_settle,
)
def negative_control_cell(
    data: Path,
    checkpoint: flags.Checkpoint,
    predictions: Path,
    output: flags.Output,
    counterfactuals: Sequence[Path] | None = None,
    *,
    use: flags.Id,
    params: MetricParams,
    metric_id: flags.Id | None = None,
    model_id: flags.Id | None = None,
    seed: flags.Seed = 0,
    draws: Annotated[int, Range(at_least=1, at_most=1000)] = 5,
    target: Literal["label", "predicted"] = "label",
    examples: Literal["all", "correct"] = "all",
    max_examples: int | None = None,
    machine: Inference = Inference(),
) -> None:
    """Explain test texts at random, several times, and score that with one metric.

    Random numbers of the metric are those that it draws for explanations by any method.

    Args:
        data: the data artefact.
        checkpoint: folder of the classifier.
        predictions: its predictions artefact.
        output: the random_scores artefact to write.
        counterfactuals: the dataset's counterfactuals artefact, for metrics that need one.
        use: metric, as registered; see ``exparity list``.
        params: option of the metric.
        metric_id: name of the metric's instance; as ``use`` if None.
        model_id: name of the model; by the folder of the checkpoint if None.
        seed: seed of the training run.
        draws: random explanations of each text.
        target: class to explain, the true or the predicted one.
        examples: examples to explain, all or those classified correctly.
        max_examples: size of a deterministic sample; all if None.
        machine: where and how the model is run.

    Raises:
        InputError: bad options, artefacts that do not belong together, or a metric that runs the
            method again.
    """
    start = time.monotonic()
    entry, metric_id = METRICS.get(use), metric_id or use
    if entry.facts.needs == "explainer":
        raise InputError(
            f"metric {metric_id}: explains changed texts again, which random scores do not depend "
            "on; leave it out of the negative control"
        )
    trained: dict[str, str | int] = {
        "model": model_id or checkpoint.resolve().parent.name,
        "seed": seed,
    }
    prepared, predicted, known_flags = read_predicted(data, checkpoint, predictions, trained)
    chosen = choose(prepared.split("test"), predicted, examples, max_examples, predictions)
    changed = read_changed_words(counterfactuals or (), chosen, data, prepared.dataset)
    check_needs(entry, metric_id, chosen, data, checkpoint, changed)
    job = Job(
        output,
        "random_scores",
        "negative_control",
        {"dataset": prepared.dataset, **trained, "metric": metric_id},
        {
            "use": use,
            "params": complete(metric_options(entry), params, f"metric {metric_id}"),
            "draws": draws,
            "target": target,
            "examples": examples,
            "max_examples": max_examples,
            "precision": machine.precision,
        },
        files=[data, predictions, *(counterfactuals or ())],
        checkpoint=checkpoint,
        sources=[Path(__file__), METHODS.get(_METHOD).source, entry.source, *SHARED_SOURCES],
        passes=entry.facts.passes * draws,
        load=partial(load, checkpoint, machine),
        doing=f"scoring random explanations with {metric_id}",
        known={
            "groups": list(prepared.groups),
            "attribute": prepared.attribute,
            "bounds": entry.facts.bounds_with(params),
            **({"flags": known_flags} if known_flags else {}),
        },
        since=start,
    )
    targets = predicted if target == "predicted" else {}
    run(job, chosen, partial(_scoring, job, targets, changed))


def _scoring(
    job: Job,
    targets: Mapping[str, int],
    changed: ChangedWords,
    classifier: Classifier,
    chunks: Chunks,
    afresh: bool,
) -> Compute:
    """Return what scores the random explanations of a part, all of them in one call."""
    use, draws = job.parameters["use"], int(job.parameters["draws"])
    params, seed = job.parameters["params"], int(job.ids["seed"])
    ahead = [encode_checked(classifier, chunks)]  # of the first chunk

    def compute(part: Sequence[Example]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        encodings = ahead.pop() if ahead else encode(classifier, part)
        classes = np.array([targets.get(example.example_id, example.label) for example in part])
        explanations = [
            replace(
                explanation,
                rationale=example.rationale,
                changed_words=changed.get(example.example_id),
            )
            for draw in range(draws)
            for explanation, example in zip(
                _drawn(classifier, part, encodings, classes, seed, draw), part, strict=True
            )
        ]
        keys, notes = [example.example_id for example in part] * draws, Counter[str]()
        values = evaluate_keyed(classifier, explanations, keys, use, seed, params, notes)
        rows = [
            {**key_of(example), "draw": draw, "score": float(value)}
            for draw, scores in enumerate(values.reshape(draws, len(part)))
            for example, value in zip(part, scores, strict=True)
        ]
        return rows, {"notes": dict(notes)}

    return compute


def _drawn(
    classifier: Classifier,
    part: Sequence[Example],
    encodings: Sequence[Encoding],
    classes: np.ndarray[Any, np.dtype[np.int64]],
    seed: int,
    draw: int,
) -> list[Explanation]:
    """Return a random explanation of each example, the same for every metric."""
    keys = [example.example_id for example in part]
    drawn = derive_seed(seed, "negative_control", draw)
    return explain_encodings(classifier, encodings, classes, keys, _METHOD, drawn, {})
