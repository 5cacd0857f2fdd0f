"""Stage foresee: what a classifier does with the test texts when parts of them are left out.

It answers once for a training; all its explanations are then compared with the answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from exparity.artefacts.analyses import ExperimentView, Table
from exparity.artefacts.columns import KEY
from exparity.artefacts.ids import Ids
from exparity.artefacts.running import analysis
from exparity.core import flags
from exparity.core.device import Inference
from exparity.core.digest import source_digest
from exparity.explanations import Explanation, units
from exparity.jobs.loop import Compute, Rest, load, run
from exparity.jobs.parts import Job
from exparity.metrics import MetricBatch, foresight
from exparity.metrics.foresight import Design, Foresight, design_of, foresights
from exparity.quantities.inputs import key_of
from exparity.stages.explain import Choice, ChosenTexts, checked_encoder
from exparity.types import Example

if TYPE_CHECKING:
    from exparity.engine.classifier import Classifier

_SOURCES = [Path(str(module.__file__)) for module in (foresight, units)]
_USUAL_UNITS = 20
"""Units of a text, roughly."""
Designs = Annotated[Sequence[Mapping[str, Any]], flags.Flag(hidden=True)]


def _options(experiment: ExperimentView, ids: Ids) -> dict[str, object] | None:
    """Take what the metrics of the dataset ask for, and the texts that they score.

    No more texts are scored than some method explains.
    """
    metrics = experiment.metrics_that_need("foresight", ids.dataset)
    if not metrics:
        return None
    designs = [
        design_of(experiment.evaluate_options(**ids, metric=metric)["params"]) for metric in metrics
    ]
    scored = [
        experiment.evaluate_options(**ids, metric=metric, method=method)["max_examples"]
        for metric in metrics
        for method in experiment.methods
    ]
    sizes = [experiment.most_explained(ids), None if None in scored else max(scored)]
    return {
        "designs": [design._asdict() for design in dict.fromkeys(designs)],
        "precision": experiment.config.precision,
        "target": experiment.config.target,
        "examples": experiment.config.examples,
        "max_examples": min((size for size in sizes if size is not None), default=None),
        "digest": source_digest(*_SOURCES),
    }


@analysis(
    "foresee",
    level="seed",
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
            keys=("example_id", "unit", "left_out", "num_masks"),
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
    designs: Designs = ({"unit": "word", "left_out": 0.5, "num_masks": 0},),
    choice: Choice = Choice(),
    machine: Inference = Inference(),
) -> None:
    """Leave out parts of each text, drawn from the text alone, and keep what the classifier does.

    A row is of one text and one way to draw. ``masks`` are its (k, n) masks of the ``n_units``
    units, row after row, eight to a byte; ``falls`` the k falls in the logit of the ``target`` less
    the mean of the others', or, where ``left_out`` is 0 and units go one by one, in its
    probability; ``ceiling`` how well an additive explanation could foresee them.

    Args:
        data: the data artefact.
        checkpoint: folder of the classifier.
        predictions: its predictions artefact.
        output: the foresight artefact to write.
        designs: ways to draw, by ``unit``, ``left_out`` (0 for one unit at a time) and
            ``num_masks`` (0 by default).
        choice: texts to take, and the class of each whose logit falls.
        machine: where and how the model is run.

    Raises:
        InputError: bad options, or artefacts that do not belong together.
    """
    texts = ChosenTexts.read(data, checkpoint, predictions, choice)
    job = Job(
        output,
        "foresight",
        texts.ids,
        {"designs": [*designs], **texts.choice, "precision": machine.precision},
        files=[data, predictions],
        checkpoint=checkpoint,
        sources=_SOURCES,
        passes=sum(Design(**design).passes_of(_USUAL_UNITS) for design in designs),
        load=partial(load, checkpoint, machine),
        doing="leaving out parts of texts",
        facts={**texts.data.compared, "flags": texts.flags},
    )
    run(job, texts.examples, partial(_asking, job, texts, [Design(**design) for design in designs]))


def _asking(job: Job, texts: ChosenTexts, designs: Sequence[Design], rest: Rest) -> Compute:
    """Return the function that asks the classifier about a part of the texts."""
    encodings_of = checked_encoder(rest.model, rest.chunks)

    def compute(part: Sequence[Example]) -> tuple[list[dict[str, object]], dict[str, object]]:
        encodings = encodings_of(part)
        targets = texts.classes_of(part)
        keys = tuple(example.example_id for example in part)
        bare = [
            Explanation.of_encoding(rest.model, encoding, target, np.zeros(len(encoding)))
            for encoding, target in zip(encodings, targets.tolist(), strict=True)
        ]

        def rows_of(chosen: Classifier, places: list[int]) -> list[list[dict[str, object]]]:
            rows: list[list[dict[str, object]]] = [[] for _ in places]
            for design in designs:
                explanations = tuple(bare[place] for place in places)
                scores = tuple(e.units(design.unit).summed(e.scores) for e in explanations)
                chosen_keys = tuple(keys[place] for place in places)
                batch = MetricBatch(
                    chosen,
                    explanations,
                    scores,
                    chosen_keys,
                    seed=0,
                    metric=job.artefact,
                    unit=design.unit,
                )
                answers = foresights(batch, design)
                for rows_of_text, answer in zip(rows, answers, strict=True):
                    rows_of_text.append({**design._asdict(), **_columns(answer)})
            return rows

        by_text = rest.model.run_by_precision([e.token_ids for e in encodings], rows_of)
        rows = []
        for example, target, columns in zip(part, targets.tolist(), by_text, strict=True):
            rows += [{**key_of(example), "target": target, **design} for design in columns]
        return rows, {}

    return compute


def _columns(answer: Foresight) -> dict[str, object]:
    return {
        "n_units": answer.left_out.shape[1],
        "masks": np.packbits(answer.left_out).tolist(),
        "falls": answer.falls.tolist(),
        "ceiling": answer.ceiling,
    }
