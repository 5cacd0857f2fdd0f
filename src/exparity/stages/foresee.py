"""Stage foresee: what a classifier does with the test texts when parts of them are left out.

It answers once for a training and a metric; explanations by all methods are then compared with the
answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np

from exparity.artefacts.analyses import ExperimentView, Table, smallest_sample
from exparity.artefacts.columns import KEY
from exparity.artefacts.ids import Ids
from exparity.artefacts.running import analysis
from exparity.core import flags
from exparity.core.device import Inference
from exparity.core.digest import source_digest
from exparity.explanations import Explanation, units
from exparity.explanations.units import Unit
from exparity.jobs.loop import Compute, Rest, load, run
from exparity.jobs.parts import USUAL_UNITS, Job
from exparity.metrics import MetricBatch, foresight
from exparity.metrics.foresight import Design, Foresight, design_of, foresights
from exparity.quantities.inputs import key_of
from exparity.stages.explain import Choice, ChosenTexts, checked_encoder
from exparity.types import Example

_SOURCES = [Path(str(module.__file__)) for module in (foresight, units)]


def _options(experiment: ExperimentView, ids: Ids) -> dict[str, object] | None:
    """Take what the metric asks for, and the texts that it scores and some method explains."""
    if ids.metric not in experiment.metrics_that_need("foresight", ids.dataset):
        return None
    scored = [
        experiment.evaluate_options(**ids, method=method)["max_examples"]
        for method in experiment.methods
    ]
    most_scored = None if None in scored else max(scored)
    return {
        **design_of(experiment.evaluate_options(**ids)["params"])._asdict(),
        "precision": experiment.config.precision,
        "target": experiment.config.target,
        "examples": experiment.config.examples,
        "max_examples": smallest_sample(experiment.most_explained(ids), most_scored),
        "digest": source_digest(*_SOURCES),
    }


@analysis(
    "foresee",
    level="metric",
    reads=("data", "models", "predictions"),
    writes={
        "foresight": Table(
            *KEY,
            "unit: string",
            "left_out: float64",
            "num_masks: int32",
            "target: int16",
            "n_units: int32",
            "masks: list<uint8>",
            "falls: list<float64>",
            "ceiling: float64",
            keys=("example_id",),
        )
    },
    display="Foresight",
    runs_model=True,
    needs=(),  # texts without groups are scored, too
    always=True,
    memory_mb=8000,
    minutes=None,
    job_options=_options,
)
def foresee_cell(
    data: Path,
    checkpoint: Path,
    predictions: Path,
    output: flags.Output,
    *,
    metric_id: flags.Id = "forward_simulation",
    unit: Unit = "word",
    left_out: Annotated[float, flags.Range(at_least=0, below=1)] = 0.5,
    num_masks: Annotated[int, flags.Range(at_least=0, at_most=4096)] = 0,
    choice: Choice = Choice(),
    machine: Inference = Inference(),
) -> None:
    """Leave out parts of each text, drawn from the text alone, and keep what the classifier does.

    A row is of one text. ``masks`` are its (k, n) masks of the ``n_units`` units, row after row,
    eight to a byte; ``falls`` the k falls in the logit of the ``target`` less the mean of the
    others', or, where ``left_out`` is 0 and units go one by one, in its probability; ``ceiling``
    how well an additive explanation could foresee them.

    Args:
        data: the data artefact.
        checkpoint: folder of the classifier.
        predictions: its predictions artefact.
        output: the foresight artefact to write.
        metric_id: name of the metric's instance that asks.
        unit: part of a text that is left out as one; see :mod:`exparity.explanations.units`.
        left_out: share of the units that each draw leaves out; 0 for one unit at a time.
        num_masks: draws of a text; if 0, as :class:`~exparity.metrics.foresight.Design` says.
        choice: texts to take, and the class of each whose logit falls.
        machine: where and how the model is run.

    Raises:
        InputError: bad options, or artefacts that do not belong together.
    """
    texts = ChosenTexts.read(data, checkpoint, predictions, choice)
    design = Design(unit, left_out, num_masks)
    job = Job(
        output,
        "foresight",
        Ids({**texts.ids, "metric": metric_id}),
        {**design._asdict(), **texts.choice, "precision": machine.precision},
        files=[data, predictions],
        checkpoint=checkpoint,
        sources=_SOURCES,
        passes=design.passes_of(USUAL_UNITS),
        load=partial(load, checkpoint, machine),
        doing="leaving out parts of texts",
        facts={**texts.data.compared, "flags": texts.flags},
    )
    run(job, texts.examples, partial(_asking, job, texts, design))


def _asking(job: Job, texts: ChosenTexts, design: Design, rest: Rest) -> Compute:
    """Return the function that asks the classifier about a part of the texts."""
    encodings_of = checked_encoder(rest.model, rest.chunks)

    def compute(part: Sequence[Example]) -> tuple[list[dict[str, object]], dict[str, object]]:
        encodings = encodings_of(part)
        targets = texts.classes_of(part)
        bare = tuple(
            Explanation.of_encoding(rest.model, encoding, target, np.zeros(len(encoding)))
            for encoding, target in zip(encodings, targets.tolist(), strict=True)
        )
        batch = MetricBatch(
            rest.model,
            bare,
            tuple(e.units(design.unit).summed(e.scores) for e in bare),
            tuple(example.example_id for example in part),
            seed=0,
            metric=job.artefact,
            unit=design.unit,
        )
        answers = foresights(batch, design)
        rows = [
            {**key_of(example), "target": target, **design._asdict(), **_columns(answer)}
            for example, target, answer in zip(part, targets.tolist(), answers, strict=True)
        ]
        return rows, {}

    return compute


def _columns(answer: Foresight) -> dict[str, object]:
    return {
        "n_units": answer.left_out.shape[1],
        "masks": np.packbits(answer.left_out).tolist(),
        "falls": answer.falls.tolist(),
        "ceiling": answer.ceiling,
    }
