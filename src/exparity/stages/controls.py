"""Stages removal_limits and negative_control: what explanations are compared with.

Random explanations are scored like those of a method. They depend on seed and text alone, so they
are drawn where they are scored, with a number for each unit of the metric. If the tokens of a word
shared a number, words of one token would come first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np

from exparity.artefacts.analyses import ExperimentView, Table, metrics_with_limits, smallest_sample
from exparity.artefacts.columns import KEY
from exparity.artefacts.ids import Ids
from exparity.artefacts.running import analysis
from exparity.core import flags
from exparity.core.device import Inference
from exparity.core.digest import source_digest
from exparity.core.seeding import derive_seed
from exparity.explanations import Explanation, alignment, rescored, units
from exparity.explanations.units import Unit
from exparity.jobs.loop import Compute, Rest, load, run
from exparity.jobs.parts import Job
from exparity.methods import METHODS, explain_encodings
from exparity.methods.batch import generator_of_text
from exparity.methods.facts import RANDOM
from exparity.methods.uniform_random import random_scores
from exparity.metrics import MARKS, MetricBatch, limits, removal
from exparity.metrics.removal import Steps
from exparity.quantities.inputs import key_of
from exparity.quantities.limits import Direction, direction_of, limits_by_example
from exparity.stages.evaluate import Metric, Scoring
from exparity.stages.explain import Choice, ChosenTexts, checked_encoder
from exparity.types import Encoding, Example, Falls, IntArray, Origin

if TYPE_CHECKING:
    from exparity.engine.classifier import Classifier

Draws = Annotated[int, flags.Range(at_least=1, at_most=1000)]
_RANDOM_SOURCE = METHODS.get(RANDOM).source
_LIMITS = Path(str(limits.__file__))
_SOURCES = (_LIMITS, Path(str(removal.__file__)), Path(str(units.__file__)), _RANDOM_SOURCE)


class _Texts(NamedTuple):
    """Texts to explain: their encodings, the class of each, and the ids of the examples."""

    encodings: Sequence[Encoding]
    classes: IntArray
    keys: Sequence[str]


def _drawn(
    classifier: Classifier, texts: _Texts, seed: int, draws: int, unit: Unit
) -> list[Explanation]:
    """Explain texts at random, draw after draw, the same for every metric."""
    seeds = [derive_seed(seed, "negative_control", draw) for draw in range(draws)]
    origins = [Origin(RANDOM, {"unit": unit}, seeds[0], key) for key in texts.keys]
    first_draw = explain_encodings(classifier, texts.encodings, texts.classes, origins)
    # What does not change from draw to draw is made and checked once.
    units_of_texts = [explanation.units(unit) for explanation in first_draw]
    explained = list(zip(first_draw, units_of_texts, texts.keys, strict=True))
    explanations = [*first_draw]
    for draw_seed in seeds[1:]:
        for explanation, text_units, key in explained:
            drawn = random_scores(text_units, generator_of_text(draw_seed, RANDOM, key))
            scores = np.where(explanation.sequence_mask, drawn, 0.0)
            origin = Origin(RANDOM, {"unit": unit}, draw_seed, key)
            explanations.append(rescored(explanation, scores, origin))
    return explanations


class _Search(NamedTuple):
    """What is removed and kept, by how many random orders, and in how many stages."""

    takes: Mapping[Direction, Sequence[Unit]]
    draws: int
    stages: int


def _limits_options(experiment: ExperimentView, ids: Ids) -> dict[str, object] | None:
    """Take the options from those of the controls, where a metric of the dataset takes units.

    The texts are those that some method explains, and the units those of the metrics. Returns None
    where skill is neither requested nor what verdicts are based on first.
    """
    metrics = metrics_with_limits(experiment, ids.dataset)
    if not metrics:
        return None
    controls = experiment.config.controls
    takes: dict[str, set[str]] = {}
    for metric in metrics:
        scoring = experiment.evaluate_options(**ids, metric=metric)
        direction = direction_of(
            higher_is_better=experiment.metrics[metric].entry.facts.direction == "higher"
        )
        takes.setdefault(direction, set()).add(scoring["params"].get("unit", "token"))
    return {
        "takes": {direction: sorted(names) for direction, names in takes.items()},
        "precision": scoring["precision"],
        "draws": controls.random.draws,
        "stages": controls.reference.stages,
        "target": experiment.config.target,
        "examples": experiment.config.examples,
        "max_examples": experiment.most_explained(ids),
        "digest": source_digest(*_SOURCES),
    }


@analysis(
    "removal_limits",
    level="seed",
    reads=("data", "models", "predictions"),
    writes={
        "removal_limits": Table(
            *KEY,
            "direction unit: string",
            "size: int32",
            "random random_log_odds: list<float64>",
            "reference reference_log_odds: float64",
            keys=("example_id", "direction", "unit", "size"),
        )
    },
    display="Limits of removal",
    runs_model=True,
    always=True,
    memory_mb=8000,
    minutes=None,
    job_options=_limits_options,
)
def removal_limits_cell(
    data: Path,
    checkpoint: Path,
    predictions: Path,
    output: flags.Output,
    *,
    takes: Mapping[Direction, Sequence[Unit]] | None = None,
    draws: Draws = 5,
    stages: Annotated[int, flags.Range(at_least=1, at_most=1000)] = 10,
    choice: Choice = Choice(),
    machine: Inference = Inference(),
) -> None:
    """Remove and keep each number of a text's units, in random orders and in the order of a search.

    A row is of one text, and of ``size`` units that are ``removed`` or alone ``kept``. It has the
    fall from the whole text in the target's probability and in its log odds, for each random order
    and for the reference explanation. The size 0 of ``kept`` leaves the special tokens alone.

    Args:
        data: the data artefact.
        checkpoint: folder of the classifier.
        predictions: its predictions artefact.
        output: the removal_limits artefact to write.
        takes: units that are ``removed``, and those that are ``kept``; tokens for both if None.
        draws: random orders of each text.
        stages: stages of the search; see :func:`~exparity.metrics.limits.reference_orders`.
        choice: texts to take, and the class of each whose probability falls.
        machine: where and how the model is run.

    Raises:
        InputError: bad options, or artefacts that do not belong together.
    """
    texts = ChosenTexts.read(data, checkpoint, predictions, choice)
    takes = takes or {"kept": ["token"], "removed": ["token"]}
    search = _Search(takes, draws, stages)
    longest = max((len(example.all_words) for example in texts.examples), default=1)
    job = Job(
        output,
        "removal_limits",
        texts.ids,
        {**search._asdict(), **texts.choice, "precision": machine.precision},
        files=[data, predictions],
        checkpoint=checkpoint,
        sources=_SOURCES,
        passes=limits.passes_of(sum(map(len, takes.values())), longest, draws, stages),
        load=partial(load, checkpoint, machine),
        doing="searching limits of removal",
        facts={**texts.data.compared, "flags": texts.flags},
    )
    run(job, texts.examples, partial(_searching, job, texts, search))


def _searching(job: Job, texts: ChosenTexts, search: _Search, rest: Rest) -> Compute:
    """Return the function that searches the limits of a part, in all directions and units."""
    encodings_of = checked_encoder(rest.model, rest.chunks)
    turns = [(direction, unit) for direction, units in search.takes.items() for unit in units]

    def compute(part: Sequence[Example]) -> tuple[list[dict[str, object]], dict[str, object]]:
        encodings = encodings_of(part)
        classes = texts.classes_of(part)

        def limits_of(chosen: Classifier, places: list[int]) -> list[list[dict[str, object]]]:
            keys = [part[place].example_id for place in places]
            searched = _Texts([encodings[place] for place in places], classes[places], keys)
            rows: list[list[dict[str, object]]] = [[] for _ in places]
            with chosen.remembering():
                for turn in turns:
                    found_limits = _limits(job, search, chosen, searched, *turn)
                    for text_rows, limit_rows in zip(rows, found_limits, strict=True):
                        text_rows += limit_rows
            return rows

        by_text = rest.model.run_by_precision([e.token_ids for e in encodings], limits_of)
        keyed = zip(part, by_text, strict=True)
        return [{**key_of(example), **row} for example, rows in keyed for row in rows], {}

    return compute


def _limits(
    job: Job,
    search: _Search,
    classifier: Classifier,
    texts: _Texts,
    direction: Direction,
    unit: Unit,
) -> list[list[dict[str, object]]]:
    """Return a row for each size of each text: falls of random orders, and of the search."""
    seed = job.ids.seed
    keys = tuple(texts.keys)
    keep = direction == "kept"
    explanations = tuple(_drawn(classifier, texts, seed, search.draws, unit))
    scores = tuple(drawn.units(unit).summed(drawn.scores) for drawn in explanations)

    def batch(size: int) -> MetricBatch:
        """Return the first of all draws of the texts."""
        return MetricBatch(
            classifier,
            explanations[:size],
            scores[:size],
            (keys * search.draws)[:size],
            seed,
            job.artefact,
            unit=unit,
        )

    first_draw = batch(len(keys))
    random = limits.falls_by_size(batch(len(explanations)), scores, keep=keep)
    searched = limits.reference_scores(first_draw, search.stages, keep=keep)
    references = limits.falls_by_size(first_draw, searched, keep=keep)
    turn = {"direction": direction, "unit": unit}
    return [
        [{**turn, **row} for row in _limit_rows(random[i :: len(keys)], reference)]
        for i, reference in enumerate(references)
    ]


def _limit_rows(random: Sequence[Falls], reference: Falls) -> list[dict[str, object]]:
    """Return a row for each size: falls of a text's random orders, and of the reference."""
    by_chance = np.array([falls.probability for falls in random]).T.tolist()
    by_chance_log_odds = np.array([falls.log_odds for falls in random]).T.tolist()
    return [
        {
            "size": size,
            "random": by_chance[k],
            "random_log_odds": by_chance_log_odds[k],
            "reference": float(reference.probability[k]),
            "reference_log_odds": float(reference.log_odds[k]),
        }
        for k, size in enumerate(reference.sizes.tolist())
    ]


def _random_options(experiment: ExperimentView, ids: Ids) -> dict[str, object] | None:
    """Take the options of the metric, and what of the explanations decides on their texts.

    Texts that no method explains are not scored: on more texts than explanations have, random ones
    would differ more often. A metric that runs the method again is left out: what is drawn does not
    depend on the model's input, so that there is nothing for it to measure.
    """
    draws = experiment.config.controls.random.draws
    if not draws or experiment.metrics[ids.metric].entry.facts.needs == "explainer":
        return None
    scoring = experiment.evaluate_options(**ids)
    return {
        **scoring,
        "max_examples": smallest_sample(scoring["max_examples"], experiment.most_explained(ids)),
        "digest": scoring["digest"] + source_digest(_RANDOM_SOURCE, _LIMITS),
        "draws": draws,
        "target": experiment.config.target,
        "examples": experiment.config.examples,
    }


@analysis(
    "negative_control",
    level="metric",
    reads=("data", "models", "predictions", "counterfactuals", "removal_limits", "foresight"),
    metric_needs={
        "counterfactuals": "counterfactual",
        "removal_limits": "removal",
        "foresight": "foresight",
    },
    writes={
        "random_scores": Table(
            *KEY,
            "draw: int16",
            "score: float64",
            "reference: float64??",
            "sizes: list<int32>??",
            "falls falls_log_odds: list<float64>??",
            "n_units: int32??",
            "ceiling: float64??",
            keys=("example_id", "draw"),
        )
    },
    display="Random explanations",
    runs_model=True,
    always=True,
    memory_mb=8000,
    minutes=None,
    job_options=_random_options,
)
def negative_control_cell(
    data: Path,
    checkpoint: Path,
    predictions: Path,
    output: flags.Output,
    counterfactuals: Sequence[Path] | None = None,
    removal_limits: Sequence[flags.Shortcut] | None = None,
    foresight: Sequence[Path] | None = None,
    *,
    use: flags.Id,
    params: flags.Params,
    metric_id: flags.Id | None = None,
    draws: Draws = 5,
    choice: Choice = Choice(),
    machine: Inference = Inference(),
) -> None:
    """Score random explanations of the test texts with one metric.

    The metric draws the same random numbers as for explanations by any method. Metrics that compare
    with rationales also score the rationale as an explanation, the ``reference``, and metrics of
    messages the whole text. Metrics that take
    fractions of the units run no model if there are limits of removal, and have the same scores.

    Args:
        data: the data artefact.
        checkpoint: folder of the classifier.
        predictions: its predictions artefact.
        output: the random_scores artefact to write.
        counterfactuals: the dataset's counterfactuals artefact, for metrics that need one.
        removal_limits: the classifier's removal_limits artefact, for metrics that take tokens.
        foresight: the classifier's foresight artefact, for metrics that need one.
        use: metric, as registered; see ``exparity list``.
        params: option of the metric.
        metric_id: name of the metric's instance; as ``use`` if None.
        draws: random explanations of each text.
        choice: texts and classes to explain.
        machine: where and how the model is run.

    Raises:
        InputError: bad options, or artefacts that do not belong together.
    """
    metric = Metric.of(use, params, metric_id)
    texts = ChosenTexts.read(data, checkpoint, predictions, choice)
    texts = replace(texts, choice={**texts.choice, "draws": draws})
    scoring = Scoring(metric, texts, counterfactuals or (), foresight or (), [predictions])
    steps = _steps(metric)
    limit_files = removal_limits if steps else None
    begin = partial(_drawing, scoring, draws)
    if steps and limit_files:
        begin = partial(_looking_up, metric, steps, limit_files[0], draws)
    scoring.run(
        output,
        limit_files or (),
        [METHODS.get(RANDOM)],
        None if limit_files else checkpoint,
        machine,
        begin,
    )


def _unit(metric: Metric) -> Unit:
    """Return the unit of a metric; random explanations have a number for each unit."""
    if metric.entry.facts.needs in (*MARKS, "messages"):
        return "word"
    unit: Unit = metric.options.get("unit", "token")
    return unit


def _steps(metric: Metric) -> Steps | None:
    """Return a metric's steps, if each takes a fraction of the units, whatever their scores."""
    values: list[Any] = [metric.options.get(name) for name in Steps._fields]
    return Steps(*values) if values[0] == "fraction" and None not in values else None


def _looking_up(metric: Metric, steps: Steps, path: Path, draws: int, rest: Rest) -> Compute:
    """Return the function that takes the scores of a part from limits of removal."""
    direction = direction_of(higher_is_better=metric.entry.facts.direction == "higher")
    falls_of = limits_by_example(path, direction, _unit(metric))
    options = {"normalised": bool(metric.options.get("normalised")), "keep": direction == "kept"}

    def compute(part: Sequence[Example]) -> tuple[list[dict[str, object]], dict[str, object]]:
        rows = []
        for example in part:
            random, _ = falls_of(example.example_id)
            values = limits.scores_of_orders(random, steps, **options)[:draws].tolist()
            rows += [
                {**key_of(example), "draw": draw, "score": value}
                for draw, value in enumerate(values)
            ]
        return rows, {}

    return compute


def _drawing(scoring: Scoring, draws: int, rest: Rest) -> Compute:
    """Return the function that explains a part at random, draw by draw, and scores all at once."""
    encodings_of = checked_encoder(rest.model, rest.chunks)
    texts = scoring.texts
    unit = _unit(scoring.metric)
    scores_together = scoring.metric.entry.facts.scores_together

    def compute(part: Sequence[Example]) -> tuple[list[dict[str, object]], dict[str, object]]:
        keys = [example.example_id for example in part]
        explained = _Texts(encodings_of(part), texts.classes_of(part), keys)
        explanations = _drawn(rest.model, explained, texts.ids.seed, draws, unit)
        rows: list[dict[str, object]] = []
        notes = Counter[str]()
        at_once = 1 if scores_together else draws
        for first in range(0, len(explanations), max(1, at_once * len(part))):
            drawn = explanations[first : first + at_once * len(part)]
            scored, drawn_notes = scoring.score(rest.model, list(part) * at_once, drawn)
            rows += scored
            notes.update(drawn_notes)
        for index, row in enumerate(rows):
            row["draw"] = index // len(part)
        best = _reference_rows(scoring, rest.model, part, explanations[: len(part)])
        for row, reference in zip(rows, best * draws, strict=bool(best)):
            row["reference"] = reference["score"]
        return rows, {"notes": dict(notes)}

    return compute


def _reference_rows(
    scoring: Scoring,
    classifier: Classifier,
    part: Sequence[Example],
    explanations: Sequence[Explanation],
) -> list[dict[str, object]]:
    """Return the rows of the best explanation of each text: its rationale, or all of its words.

    There are none for other metrics. ``explanations`` are any of the texts.
    """
    metric = scoring.metric
    needs = metric.entry.facts.needs
    if needs == "rationale":
        explanations = list(map(_as_attribution, part, explanations))
    elif needs == "messages":
        scoring = replace(scoring, metric=metric._replace(options={**metric.options, "share": 1.0}))
    else:
        return []
    rows, _ = scoring.score(classifier, part, explanations)
    return rows


def _as_attribution(example: Example, explanation: Explanation) -> Explanation:
    """Return an explanation whose scores are those of the rationale itself: 1 a word."""
    assert explanation.word_ids is not None
    marks = np.array([0] if example.rationale is None else example.rationale, dtype=np.float64)
    return replace(explanation, scores=alignment.shared(explanation.word_ids, marks))
