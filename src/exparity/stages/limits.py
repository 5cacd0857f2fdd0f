"""Stage removal_limits: falls when units are removed in random orders and by a search."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import pyarrow.compute as pc

from exparity.artefacts.analyses import ExperimentView, Table
from exparity.artefacts.columns import KEY, fields
from exparity.artefacts.files import read_artefact
from exparity.artefacts.running import analysis
from exparity.core import flags
from exparity.core.device import Inference
from exparity.core.digest import source_digest
from exparity.core.seeding import derive_seed
from exparity.explanations import Explanation, units
from exparity.explanations.units import Unit
from exparity.jobs.loop import Chunks, Compute, load, run
from exparity.jobs.parts import Job
from exparity.methods import METHODS, explain_encodings
from exparity.metrics import MetricBatch, limits, removal
from exparity.stages.cell import Lookup, cell_of, key_of
from exparity.stages.explain import checked_encoder, choose, classes_of, read_predicted
from exparity.types import Encoding, Example, Falls, IntArray, Origin

if TYPE_CHECKING:
    from exparity.engine.classifier import Classifier

Direction = Literal["removed", "kept"]
"""A step removes its units, or keeps them alone."""
RANDOM = "uniform_random"
"""The method of random explanations."""
_SOURCES = (
    *(Path(str(module.__file__)) for module in (limits, removal, units)),
    METHODS.get(RANDOM).source,
)
_TOKENS = 40  # of a text, as far as the size of parts needs it


def direction_of(higher_is_better: bool) -> Direction:
    """Return whether metrics remove or keep the units of a step, by which score is better."""
    return "removed" if higher_is_better else "kept"


def limits_by_example(
    path: Path, direction: Direction, unit: Unit = "token"
) -> Callable[[str], tuple[Falls, Falls]]:
    """Return a function of an example's id that reads its falls from an artefact.

    It returns the (r, k) falls of the random orders, and the (k,) falls of the reference, at k
    rising sizes.
    """
    table, _ = read_artefact(path, "removal_limits")
    for name, value in (("direction", direction), ("unit", unit)):
        table = table.filter(pc.equal(table.column(name), value))
    ids, starts = np.unique(table.column("example_id").to_pylist(), return_index=True)
    ends = [*starts[1:], None]  # rows are sorted
    places = zip(ids.tolist(), map(slice, starts, ends), strict=True)
    rows_of = Lookup(path, f"limits for {unit}s {direction} of example", places)
    sizes = table.column("size").to_numpy().astype(np.int64)
    columns = {
        name: np.array(table.column(name).to_pylist(), dtype=np.float64)
        for name in ("random", "random_log_odds", "reference", "reference_log_odds")
    }

    def falls_of(example_id: str) -> tuple[Falls, Falls]:
        rows = rows_of[example_id]
        random = (columns[name][rows].T for name in ("random", "random_log_odds"))
        reference = (columns[name][rows] for name in ("reference", "reference_log_odds"))
        return Falls(sizes[rows], *random), Falls(sizes[rows], *reference)

    return falls_of


def drawn(
    classifier: Classifier,
    texts: tuple[Sequence[Encoding], IntArray, Sequence[str]],
    seed: int,
    draws: int,
    unit: Unit,
) -> list[Explanation]:
    """Explain texts at random, draw after draw, the same for every metric.

    ``texts`` are their encodings, the classes to explain and the ids of the examples.
    """
    encodings, classes, keys = texts
    explanations = []
    for draw in range(draws):
        of_draw = derive_seed(seed, "negative_control", draw)
        origins = [Origin(RANDOM, {"unit": unit}, of_draw, key) for key in keys]
        explanations += explain_encodings(classifier, encodings, classes, origins)
    return explanations


def _job_options(experiment: ExperimentView, ids: Mapping[str, Any]) -> dict[str, Any] | None:
    """Take the options from those of the controls, where a metric of the dataset takes units.

    The texts are those that some method explains, and the units those of the metrics.
    """
    controls = experiment.config.controls
    applying = experiment.applying("metrics", ids["dataset"])
    metrics = [id for id in experiment.metrics_that_need("removal") if id in applying]
    if not controls.random.draws or not metrics:
        return None
    takes: dict[str, set[str]] = {}
    for id in metrics:
        scoring = experiment.evaluate_options(**ids, metric=id)
        direction = direction_of(experiment.metrics[id].entry.facts.direction == "higher")
        takes.setdefault(direction, set()).add(scoring["params"].get("unit", "token"))
    return {
        "takes": {direction: sorted(own) for direction, own in takes.items()},
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
            KEY
            + fields(
                "direction unit: string",
                "size: int32",
                "random random_log_odds: list<float64>",
                "reference reference_log_odds: float64",
            ),
            keys=("example_id", "direction", "unit", "size"),
        )
    },
    display="Limits of removal",
    runs_model=True,
    always=True,
    memory_mb=8000,
    minutes=240,
    job_options=_job_options,
)
def removal_limits_cell(
    data: Path,
    checkpoint: Path,
    predictions: Path,
    output: flags.Output,
    *,
    takes: Mapping[Direction, Sequence[Unit]] | None = None,
    draws: Annotated[int, flags.Range(at_least=1, at_most=1000)] = 5,
    stages: Annotated[int, flags.Range(at_least=1, at_most=1000)] = 10,
    target: Literal["label", "predicted"] = "label",
    examples: Literal["all", "correct"] = "all",
    max_examples: int | None = None,
    machine: Inference = Inference(),
) -> None:
    """Take tenths of each text's units in random orders, and in the order of a search.

    A row has, of one text and ``size`` units that are ``removed`` or alone ``kept``, the fall from
    the whole text in the target's probability and in its log odds: of each random order, and of the
    reference explanation. Units that are ``kept`` also have the size 0, where special tokens are
    left alone.

    Args:
        data: the data artefact.
        checkpoint: folder of the classifier.
        predictions: its predictions artefact.
        output: the removal_limits artefact to write.
        takes: units that are ``removed``, and those that are ``kept``; tokens for both if None.
        draws: random orders of each text.
        stages: of the search; see :func:`~exparity.metrics.limits.reference_orders`.
        target: class whose probability falls, the true or the predicted one.
        examples: examples to take, all or those classified correctly.
        max_examples: size of a deterministic sample; all if None.
        machine: where and how the model is run.

    Raises:
        InputError: bad options, or artefacts that do not belong together.
    """
    prepared, predicted, metadata = read_predicted(data, checkpoint, predictions)
    sampled = {"target": target, "examples": examples, "max_examples": max_examples}
    takes = takes or {"kept": ["token"], "removed": ["token"]}
    drawn = {"takes": takes, "draws": draws, "stages": stages}
    job = Job(
        output,
        "removal_limits",
        cell_of(metadata),
        {**drawn, **sampled, "precision": machine.precision},
        files=[data, predictions],
        checkpoint=checkpoint,
        sources=_SOURCES,
        passes=sum(map(len, takes.values())) * (10 * draws + _TOKENS * (stages + 1) // 2),
        load=partial(load, checkpoint, machine),
        doing="searching limits of removal",
        known={**prepared.compared, "flags": metadata.get("flags", [])},
    )
    chosen = choose(prepared.split("test"), predicted, examples, max_examples, predictions)
    targets = predicted if target == "predicted" else {}
    run(job, chosen, partial(_searching, job, targets))


def _searching(
    job: Job, targets: Mapping[str, int], classifier: Classifier, chunks: Chunks, afresh: bool
) -> Compute:
    """Return the function that searches the limits of a part, in all directions and units."""
    encodings_of = checked_encoder(classifier, chunks)
    stages = int(job.parameters["stages"])

    def compute(part: Sequence[Example]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        encodings, classes = encodings_of(part), classes_of(part, targets)

        def limits_of(chosen: Classifier, places: list[int]) -> list[list[dict[str, Any]]]:
            keys = [part[place].example_id for place in places]
            texts = [encodings[place] for place in places], classes[places], keys
            found: list[list[dict[str, Any]]] = [[] for _ in places]
            with chosen.remembering():
                for direction, kinds in job.parameters["takes"].items():
                    keep = direction == "kept"
                    for unit in kinds:
                        many, one_each = _batches(job, chosen, texts, unit)
                        random = limits.falls_in_tenths(many, many.scores, keep)
                        searched = limits.reference_scores(one_each, keep, stages)
                        reference = limits.falls_in_tenths(one_each, searched, keep)
                        for index, own in enumerate(found):
                            falls = random[index :: len(places)], reference[index]
                            own += _rows({"direction": direction, "unit": unit}, *falls)
            return found

        by_text = classifier.run_by_precision([e.token_ids for e in encodings], limits_of)
        rows = [
            {**key_of(example), **row}
            for example, own in zip(part, by_text, strict=True)
            for row in own
        ]
        return rows, {}

    return compute


def _batches(
    job: Job,
    classifier: Classifier,
    texts: tuple[Sequence[Encoding], IntArray, Sequence[str]],
    unit: Unit,
) -> tuple[MetricBatch, MetricBatch]:
    """Return random explanations of texts, one draw after the other, and those of the first."""
    seed, keys = int(job.ids["seed"]), tuple(texts[2])
    draws = job.parameters["draws"]
    every = tuple(drawn(classifier, texts, seed, draws, unit))
    scores = tuple(one.units(unit).summed(one.scores) for one in every)

    def batch(size: int) -> MetricBatch:
        of_draws = every[:size], scores[:size], (keys * draws)[:size]
        return MetricBatch(classifier, *of_draws, seed, job.artefact, unit=unit)

    return batch(len(every)), batch(len(keys))


def _rows(
    ids: Mapping[str, str], random: Sequence[Falls], reference: Falls
) -> list[dict[str, Any]]:
    """Return the rows of one text, a size each."""
    return [
        {
            **ids,
            "size": int(size),
            "random": [float(falls.probability[step]) for falls in random],
            "random_log_odds": [float(falls.log_odds[step]) for falls in random],
            "reference": float(reference.probability[step]),
            "reference_log_odds": float(reference.log_odds[step]),
        }
        for step, size in enumerate(reference.sizes)
    ]
