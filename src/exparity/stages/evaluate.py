"""Stage evaluate: explanations to one score per example.

Random explanations, the negative control, are those of a method. They are drawn where they are
scored, since they depend on seed and text alone: for each unit that the metric scores. Drawn by
word and shared by its tokens, they would take words of one token first.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from exparity.artefacts.analyses import ExperimentView
from exparity.artefacts.columns import KEY, LEFT_OUT, falls_columns, fields
from exparity.artefacts.running import analysis, stage
from exparity.artefacts.schemas import CUT_TEXTS
from exparity.core import flags
from exparity.core.device import Inference
from exparity.core.digest import source_digest
from exparity.core.errors import InputError
from exparity.core.registry import Entry
from exparity.core.validation import complete
from exparity.data.table import PreparedData, read_prepared, sample
from exparity.explanations import Explanation, alignment
from exparity.explanations.units import Unit
from exparity.jobs.loop import Chunks, Compute, load, run
from exparity.jobs.parts import Job
from exparity.methods import METHODS, explain_encodings
from exparity.methods.facts import MethodFacts
from exparity.metrics import (
    MARKS,
    METRICS,
    SHARED_SOURCES,
    evaluate_keyed,
    limits,
    mean_length,
    metric_options,
)
from exparity.metrics.facts import MetricFacts
from exparity.metrics.removal import Steps
from exparity.stages.cell import cell_of, checkpoint_ids, key_of, read_examples, require_same_cell
from exparity.stages.counterfactuals import ChangedWords, n_unchanged, read_changed_words
from exparity.stages.explain import checked_encoder, choose, classes_of, read_predicted
from exparity.stages.limits import (
    RANDOM,
    Direction,
    direction_of,
    limits_by_example,
    seeds_of_draws,
)
from exparity.types import Example, Falls, Origin

if TYPE_CHECKING:
    from exparity.engine.classifier import Classifier

log = logging.getLogger(__name__)

_LIMITS = Path(str(limits.__file__))


@stage("evaluate")
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
        counterfactuals: the dataset's counterfactuals artefact, for metrics that need one.

    Raises:
        InputError: bad options or artefacts that do not belong together.
    """
    metric = _Metric.of(use, params, metric_id)
    prepared, table, metadata = _read(data, explanations, checkpoint)
    needs = metric.entry.facts.needs
    explained = _Explained(
        path=data,
        data=prepared,
        examples=_chosen(prepared, table, max_examples, explanations, data),
        ids=metadata["wildcards"],
        sampled={"max_examples": max_examples},
        checkpoint=checkpoint,
        files=[explanations],
        methods=[_explainer(metadata, explanations)] if needs == "explainer" else [],
        begin=partial(_reading, table, metadata),
        flags=metadata.get("flags", []),
        may_be_cut=bool(metadata.get("n_truncated")),
    )
    _score(metric, explained, output, machine, counterfactuals)


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
    only_for={"counterfactuals": "counterfactual", "removal_limits": "removal"},
    artefact="random_scores",
    columns=KEY
    + fields(("draw", pa.int16()), ("score", pa.float64()))
    + [pa.field("reference", pa.float64(), metadata=LEFT_OUT)]
    + falls_columns(),
    keys=("example_id", "draw"),
    display="Random explanations",
    runs_model=True,
    always=True,
    memory_mb=8000,
    minutes=240,
    job_options=_job_options,
)
def negative_control_cell(
    data: Path,
    checkpoint: flags.Checkpoint,
    predictions: Path,
    output: flags.Output,
    counterfactuals: Sequence[Path] | None = None,
    removal_limits: Sequence[Path] | None = None,
    *,
    use: flags.Id,
    params: flags.Params,
    metric_id: flags.Id | None = None,
    model_id: flags.Id | None = None,
    seed: flags.Seed = 0,
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
    metric = _Metric.of(use, params, metric_id)
    if metric.entry.facts.needs == "explainer":
        raise InputError(
            f"metric {metric.id}: explains changed texts again, which random scores do not "
            "depend on; leave it out of the negative control"
        )
    trained = {"model": model_id or checkpoint.resolve().parent.name, "seed": seed}
    prepared, predicted, known_flags = read_predicted(data, checkpoint, predictions, trained)
    sampled = {"target": target, "examples": examples, "max_examples": max_examples}
    explained = _Explained(
        path=data,
        data=prepared,
        examples=choose(prepared.split("test"), predicted, examples, max_examples, predictions),
        ids={"dataset": prepared.dataset, **trained},
        sampled={**sampled, "draws": draws},
        checkpoint=checkpoint,
        files=[predictions],
        methods=[METHODS.get(RANDOM)],
        begin=partial(
            _drawing, seed, draws, metric.unit, predicted if target == "predicted" else {}
        ),
        flags=known_flags,
        draws=draws,
        limits=metric.limits_in(removal_limits or ()),
    )
    _score(metric, explained, output, machine, counterfactuals)


class _Metric(NamedTuple):
    """Metric and classifier that explanations are scored with."""

    entry: Entry[MetricFacts]
    id: str
    options: Mapping[str, Any]

    @classmethod
    def of(cls, use: str, params: Mapping[str, Any], id: str | None) -> _Metric:
        """Return a metric with all its options, once they are checked."""
        entry, id = METRICS.get(use), id or use
        return cls(entry, id, complete(metric_options(entry), params, f"metric {id}"))

    @property
    def unit(self) -> Unit:
        """What it scores, and random explanations have a number of."""
        if self.entry.facts.needs in MARKS:
            return "word"
        unit: Unit = self.options.get("unit", "token")
        return unit

    @property
    def direction(self) -> Direction:
        """What it does with the units that it takes."""
        return direction_of(self.entry.facts.direction == "higher")

    @property
    def steps(self) -> Steps | None:
        """Its steps, if each takes a fraction of the units, whatever their scores."""
        known: list[Any] = [self.options.get(name) for name in Steps._fields]
        return Steps(*known) if known[0] == "fraction" and None not in known else None

    def limits_in(self, paths: Sequence[Path]) -> Path | None:
        """Return the limits of removal that scores of random explanations can be read from."""
        return next(iter(paths), None) if self.steps else None


@dataclass(frozen=True, kw_only=True)
class _Explained:
    """Explanations to score, and what their scores depend on beside the metric."""

    path: Path
    data: PreparedData
    examples: Sequence[Example]
    ids: Mapping[str, Any]
    sampled: Mapping[str, Any]  # parameters of the choice of examples
    checkpoint: Path | None
    files: Sequence[Path]
    methods: Sequence[Entry[MethodFacts]]  # those that are run for the scores
    begin: Callable[[Any, Chunks], Callable[[Sequence[Example]], list[Explanation]]]
    flags: Sequence[str]
    may_be_cut: bool = False  # some texts are longer than the model reads
    draws: int | None = None  # how often each text is explained, if at random
    limits: Path | None = None  # where the falls of random explanations are


def _score(
    metric: _Metric,
    explained: _Explained,
    output: Path,
    machine: Inference,
    counterfactuals: Sequence[Path] | None,
) -> None:
    """Score explanations with one metric, and write the artefact."""
    prepared, checkpoint, draws = explained.data, explained.checkpoint, explained.draws
    facts, paths = metric.entry.facts, counterfactuals or ()
    changed = read_changed_words(paths, explained.examples, explained.path, prepared.dataset)
    _check_needs(metric, explained, changed)
    runs_model = (facts.runs_model or draws is not None) and not explained.limits
    explainers = explained.methods
    job = Job(
        output,
        "scores" if draws is None else "random_scores",
        {**explained.ids, "metric": metric.id},
        {
            "use": metric.entry.id,
            "params": metric.options,
            "precision": machine.precision,
            **explained.sampled,
        },
        files=[
            *(explained.path, *explained.files, *paths),
            *([explained.limits] if explained.limits else []),
        ],
        checkpoint=checkpoint if runs_model else None,
        sources=[metric.entry.source, *SHARED_SOURCES, *(one.source for one in explainers)],
        passes=prod([facts.passes, *(one.facts.passes for one in explainers), draws or 1]),
        load=partial(load, checkpoint, machine) if runs_model else None,
        doing=f"evaluating {metric.id}",
        known={
            "groups": list(prepared.groups),
            "attribute": prepared.attribute,
            "flags": list(explained.flags),
            "bounds": facts.bounds_with(metric.options),
            "skill": facts.compared_by,
        },
    )
    options = metric.options
    if facts.needs == "rationale":
        options = _of_dataset(options, prepared)
    begin = partial(_scoring, job, options, explained, changed)
    if explained.limits:
        begin = partial(_looking_up, metric, explained, explained.limits)
    scored = run(job, explained.examples, begin)
    scores = scored.column("score").to_numpy() if scored else np.zeros(0)
    if np.isnan(scores).any():
        undefined = int(np.isnan(scores).sum())
        log.warning("%s is undefined for %d of %d examples", metric.id, undefined, len(scores))


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


def _check_needs(metric: _Metric, explained: _Explained, changed: ChangedWords) -> None:
    """Check that there is what a metric works with."""
    facts, data, examples = metric.entry.facts, explained.path, explained.examples
    if facts.needs == "rationale" and all(e.rationale is None for e in examples):
        raise InputError(
            f"{data}: no example has a rationale, which metric {metric.id} compares explanations "
            "with; leave the metric out for this data"
        )
    if facts.needs == "counterfactual" and examples and not changed:
        raise InputError(
            f"{data}: no example has a counterfactual, which metric {metric.id} asks for words "
            "that it changes; name the artefact with --counterfactuals"
        )
    if facts.runs_model and explained.checkpoint is None:
        raise InputError(f"metric {metric.id}: runs the model; name its --checkpoint")


def _of_dataset(options: Mapping[str, Any], prepared: PreparedData) -> dict[str, Any]:
    """Return options with the mean length of a dataset's rationales where that is asked for.

    It is that of the whole test split: a part of it, or a sample, has another.
    """
    if options.get("top_k") != "mean":
        return dict(options)
    rationales = [example.rationale or () for example in prepared.split("test")]
    return {**options, "top_k": mean_length([sum(marks) for marks in rationales])}


def _scoring(
    job: Job,
    options: Mapping[str, Any],
    explained: _Explained,
    changed: ChangedWords,
    classifier: Classifier | None,
    chunks: Chunks,
    afresh: bool,
) -> Compute:
    """Return what scores the explanations of a part, all draws of them in one call."""
    use, seed = job.parameters["use"], int(job.ids["seed"])
    explanations_of, draws = explained.begin(classifier, chunks), explained.draws
    drawn = [{}] if draws is None else [{"draw": draw} for draw in range(draws)]

    def compute(part: Sequence[Example]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        places = [(example, draw) for draw in drawn for example in part]
        explanations = [
            replace(
                explanation,
                rationale=example.rationale,
                changed_words=changed.get(example.example_id),
            )
            for (example, _), explanation in zip(places, explanations_of(part), strict=True)
        ]
        keys, notes = [example.example_id for example, _ in places], Counter[str]()
        falls: dict[int, Falls] = {}
        if changed:
            notes["unchanged"] = n_unchanged(changed, part)
        values = evaluate_keyed(
            classifier, explanations, keys, use, seed, dict(options), notes, falls
        )
        scores = [
            {**key_of(example), **draw, "score": float(value), **_columns(falls.get(index))}
            for index, ((example, draw), value) in enumerate(zip(places, values, strict=True))
        ]
        if draws is not None and METRICS.get(use).facts.needs == "rationale":
            ideal = [_as_attribution(one) for one in explanations[: len(part)]]
            best = evaluate_keyed(
                classifier, ideal, keys[: len(part)], use, seed, dict(options), None
            )
            for row, value in zip(scores, np.tile(best, draws), strict=True):
                row["reference"] = float(value)
        cut = _n_cut(part, explanations) if explained.may_be_cut else 0
        if not cut:
            return scores, {"notes": dict(notes)}
        flags = sorted({*explained.flags, CUT_TEXTS})
        return scores, {"notes": {**notes, CUT_TEXTS: cut}, "flags": flags}

    return compute


def _columns(falls: Falls | None) -> dict[str, list[float]]:
    """Return falls as artefacts hold them."""
    if falls is None:
        return {}
    return dict(
        zip(("sizes", "falls", "falls_log_odds"), (own.tolist() for own in falls), strict=True)
    )


def _as_attribution(explanation: Explanation) -> Explanation:
    """Return an explanation whose scores are those of the rationale itself: 1 a word."""
    assert explanation.word_ids is not None
    known = explanation.rationale is not None
    marks = np.array(explanation.rationale if known else [0], dtype=np.float64)
    return replace(explanation, scores=alignment.shared(explanation.word_ids, marks))


def _looking_up(
    metric: _Metric, explained: _Explained, path: Path, classifier: None, *_: Any
) -> Compute:
    """Return what takes the scores of random explanations of a part from limits of removal."""
    falls_of = limits_by_example(path, metric.direction, metric.unit)
    steps, keep = metric.steps, metric.direction == "kept"
    assert steps is not None

    def compute(part: Sequence[Example]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        rows = []
        for example in part:
            random, _ = falls_of(example.example_id)
            values = limits.scores_of_orders(
                random, steps, normalised=bool(metric.options.get("normalised")), keep=keep
            )
            for draw, value in enumerate(values[: explained.draws]):
                rows.append({**key_of(example), "draw": draw, "score": float(value)})
        return rows, {}

    return compute


def _reading(
    table: pa.Table, metadata: Mapping[str, Any], classifier: Classifier | None, chunks: Chunks
) -> Callable[[Sequence[Example]], list[Explanation]]:
    """Return what takes the explanations of a part from an artefact."""
    positions = {key: at for at, key in enumerate(table.column("example_id").to_pylist())}

    def read(part: Sequence[Example]) -> list[Explanation]:
        rows = table.take([positions[example.example_id] for example in part]).to_pylist()
        pairs = zip(part, rows, strict=True)
        return [_explanation(e, row, _origin(metadata, e.example_id)) for e, row in pairs]

    return read


def _drawing(
    seed: int,
    draws: int,
    unit: Unit,
    targets: Mapping[str, int],
    classifier: Classifier,
    chunks: Chunks,
) -> Callable[[Sequence[Example]], list[Explanation]]:
    """Return what explains a part at random, draw after draw, the same for every metric."""
    encodings_of = checked_encoder(classifier, chunks)

    def draw(part: Sequence[Example]) -> list[Explanation]:
        texts = encodings_of(part), classes_of(part, targets), [e.example_id for e in part]
        each = (
            explain_encodings(classifier, *texts, RANDOM, drawn, {"unit": unit})
            for drawn in seeds_of_draws(seed, draws)
        )
        return list(chain.from_iterable(each))

    return draw


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


def _explanation(example: Example, row: Mapping[str, Any], origin: Origin | None) -> Explanation:
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
        pair=example.pair,
        written=example.parts,
    )
