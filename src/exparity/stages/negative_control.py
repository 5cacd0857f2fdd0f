"""Stage negative_control: random explanations, scored like those of a method.

They depend on seed and text alone, so they are drawn where they are scored, with a number for each
unit of the metric. If the tokens of a word shared a number, words of one token would come first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from exparity.artefacts.analyses import ExperimentView, Table
from exparity.artefacts.columns import KEY, fields
from exparity.artefacts.running import analysis
from exparity.core import flags
from exparity.core.device import Inference
from exparity.core.digest import source_digest
from exparity.explanations import Explanation, alignment
from exparity.explanations.units import Unit
from exparity.jobs.loop import Chunks, Compute
from exparity.methods import METHODS
from exparity.metrics import MARKS, limits
from exparity.metrics.removal import Steps
from exparity.stages.cell import cell_of, key_of
from exparity.stages.evaluate import Metric, Scoring
from exparity.stages.explain import checked_encoder, choose, classes_of, read_predicted
from exparity.stages.limits import RANDOM, direction_of, drawn, limits_by_example
from exparity.types import Example

if TYPE_CHECKING:
    from exparity.engine.classifier import Classifier

_LIMITS = Path(str(limits.__file__))


def _job_options(experiment: ExperimentView, ids: Mapping[str, Any]) -> dict[str, Any] | None:
    """Take the options of the metric, and what of the explanations decides on their texts.

    Texts that no method explains are not scored: on more texts than explanations have, random ones
    would differ more often. A metric that runs the method again is left out: what is drawn does not
    depend on the model's input, so that there is nothing for it to measure.
    """
    draws = experiment.config.controls.random.draws
    if not draws or experiment.metrics[ids["metric"]].entry.facts.needs == "explainer":
        return None
    scoring = experiment.evaluate_options(**ids)
    sizes = [scoring["max_examples"], experiment.most_explained(ids)]
    return {
        **scoring,
        "max_examples": min((size for size in sizes if size is not None), default=None),
        "digest": scoring["digest"] + source_digest(METHODS.get(RANDOM).source, _LIMITS),
        "draws": draws,
        "target": experiment.config.target,
        "examples": experiment.config.examples,
    }


@analysis(
    "negative_control",
    level="metric",
    reads=("data", "models", "predictions", "counterfactuals", "removal_limits"),
    of_metrics={"counterfactuals": "counterfactual", "removal_limits": "removal"},
    writes={
        "random_scores": Table(
            KEY
            + fields("draw: int16", "score: float64", "reference: float64??")
            + fields("sizes: list<int32>??", "falls falls_log_odds: list<float64>??"),
            keys=("example_id", "draw"),
        )
    },
    display="Random explanations",
    runs_model=True,
    always=True,
    memory_mb=8000,
    minutes=240,
    job_options=_job_options,
)
def negative_control_cell(
    data: Path,
    checkpoint: Path,
    predictions: Path,
    output: flags.Output,
    counterfactuals: Sequence[Path] | None = None,
    removal_limits: Sequence[Path] | None = None,
    *,
    use: flags.Id,
    params: flags.Params,
    metric_id: flags.Id | None = None,
    draws: Annotated[int, flags.Range(at_least=1, at_most=1000)] = 5,
    target: Literal["label", "predicted"] = "label",
    examples: Literal["all", "correct"] = "all",
    max_examples: int | None = None,
    machine: Inference = Inference(),
) -> None:
    """Explain test texts at random, several times, and score that with one metric.

    Random numbers of the metric are those that it draws for explanations by any method. Metrics
    that compare with rationales also score these as explanations, the ``reference``. Metrics that
    take fractions of the units run no model where the limits of removal are there.

    Args:
        data: the data artefact.
        checkpoint: folder of the classifier.
        predictions: its predictions artefact.
        output: the random_scores artefact to write.
        counterfactuals: the dataset's counterfactuals artefact, for metrics that need one.
        removal_limits: the classifier's removal_limits artefact, for metrics that take tokens.
        use: metric, as registered; see ``exparity list``.
        params: option of the metric.
        metric_id: name of the metric's instance; as ``use`` if None.
        draws: random explanations of each text.
        target: class to explain, the true or the predicted one.
        examples: examples to explain, all or those classified correctly.
        max_examples: size of a deterministic sample; all if None.
        machine: where and how the model is run.

    Raises:
        InputError: bad options, or artefacts that do not belong together.
    """
    metric = Metric.of(use, params, metric_id)
    prepared, predicted, metadata = read_predicted(data, checkpoint, predictions)
    scoring = Scoring(
        metric=metric,
        path=data,
        data=prepared,
        examples=choose(prepared.split("test"), predicted, examples, max_examples, predictions),
        ids=cell_of(metadata),
        flags=metadata.get("flags", []),
        counterfactuals=counterfactuals or (),
    )
    sampled = {"target": target, "examples": examples, "max_examples": max_examples}
    chosen = {**sampled, "draws": draws}
    files, methods = [predictions], [METHODS.get(RANDOM)]
    steps = _steps(metric)
    if removal_limits and steps:
        begin = partial(_looking_up, metric, steps, removal_limits[0], draws)
        files.append(removal_limits[0])
        scoring.run(output, chosen, files, methods, None, machine, begin)
        return
    targets = predicted if target == "predicted" else {}
    begin = partial(_drawing, scoring, draws, targets)
    scoring.run(output, chosen, files, methods, checkpoint, machine, begin)


def _unit(metric: Metric) -> Unit:
    """Return the unit of a metric, for each of which random explanations have a number."""
    if metric.entry.facts.needs in MARKS:
        return "word"
    unit: Unit = metric.options.get("unit", "token")
    return unit


def _steps(metric: Metric) -> Steps | None:
    """Return a metric's steps, if each takes a fraction of the units, whatever their scores."""
    known: list[Any] = [metric.options.get(name) for name in Steps._fields]
    return Steps(*known) if known[0] == "fraction" and None not in known else None


def _looking_up(metric: Metric, steps: Steps, path: Path, draws: int, *_: Any) -> Compute:
    """Return the function that takes the scores of a part from limits of removal."""
    direction = direction_of(metric.entry.facts.direction == "higher")
    falls_of = limits_by_example(path, direction, _unit(metric))
    normalised = bool(metric.options.get("normalised"))

    def compute(part: Sequence[Example]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        rows = []
        for example in part:
            random, _ = falls_of(example.example_id)
            values = limits.scores_of_orders(
                random, steps, normalised=normalised, keep=direction == "kept"
            )
            for draw, value in enumerate(values[:draws]):
                rows.append({**key_of(example), "draw": draw, "score": float(value)})
        return rows, {}

    return compute


def _drawing(
    scoring: Scoring,
    draws: int,
    targets: Mapping[str, int],
    classifier: Classifier,
    chunks: Chunks,
    afresh: bool,
) -> Compute:
    """Return the function that explains a part at random, draw by draw, and scores all at once."""
    encodings_of = checked_encoder(classifier, chunks)
    unit = _unit(scoring.metric)
    has_reference = scoring.metric.entry.facts.needs == "rationale"

    def compute(part: Sequence[Example]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        texts = encodings_of(part), classes_of(part, targets), [e.example_id for e in part]
        explanations = drawn(classifier, texts, scoring.ids["seed"], draws, unit)
        rows, notes = scoring.score(classifier, list(part) * draws, explanations)
        for index, row in enumerate(rows):
            row["draw"] = index // len(part)
        if has_reference:
            ideal = list(map(_as_attribution, part, explanations[: len(part)]))
            best, _ = scoring.score(classifier, part, ideal)
            for row, of_rationale in zip(rows, best * draws, strict=True):
                row["reference"] = of_rationale["score"]
        return rows, {"notes": notes}

    return compute


def _as_attribution(example: Example, explanation: Explanation) -> Explanation:
    """Return an explanation whose scores are those of the rationale itself: 1 a word."""
    assert explanation.word_ids is not None
    marks = np.array([0] if example.rationale is None else example.rationale, dtype=np.float64)
    return replace(explanation, scores=alignment.shared(explanation.word_ids, marks))
