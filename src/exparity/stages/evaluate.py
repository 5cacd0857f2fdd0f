"""Stage evaluate: explanations to one score per example."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from exparity.artefacts.columns import records
from exparity.artefacts.files import read_artefact
from exparity.artefacts.ids import Ids, Provenance
from exparity.artefacts.schemas import CUT_TEXTS
from exparity.core import flags
from exparity.core.device import Inference
from exparity.core.errors import InputError
from exparity.core.plain import as_int
from exparity.core.registry import Entry
from exparity.core.validation import complete
from exparity.data.table import read_prepared, sample
from exparity.explanations import Explanation
from exparity.jobs.loop import Begin, Compute, Rest, load, run
from exparity.jobs.parts import Job
from exparity.methods import METHODS
from exparity.methods.facts import MethodFacts
from exparity.metrics import (
    MARKS,
    METRICS,
    SHARED_SOURCES,
    Cohort,
    evaluate_keyed,
    mean_length,
    metric_options,
)
from exparity.metrics.facts import MetricFacts
from exparity.metrics.foresight import Foresight, design_of
from exparity.quantities.foresights import read_foresights
from exparity.quantities.inputs import Lookup, cell_of, checkpoint_ids, key_of, require_same_cell
from exparity.stages.counterfactuals import ChangedWords, n_unchanged, read_changed_words
from exparity.stages.explain import ChosenTexts
from exparity.types import Example, Falls, Origin

if TYPE_CHECKING:
    from exparity.engine.classifier import Classifier

log = logging.getLogger(__name__)


def evaluate_cell(
    data: Path,
    explanations: Path,
    checkpoint: flags.CheckpointWithManifest | None,
    output: flags.Output,
    *,
    use: flags.Id,
    params: flags.Params,
    metric_id: flags.Id | None = None,
    max_examples: int | None = None,
    machine: Inference = Inference(),
    counterfactuals: Sequence[Path] | None = None,
    foresight: Sequence[Path] | None = None,
    predictions: Sequence[Path] | None = None,
) -> None:
    """Score explanations with one metric.

    A long job keeps finished parts in ``<output>.parts``; the next call with the same inputs,
    parameters and code continues from them.

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
        foresight: the classifier's foresight artefact, for metrics that need one.
        predictions: the classifier's predictions artefact, for metrics that need one.

    Raises:
        InputError: bad options or artefacts that do not belong together.
    """
    metric = Metric.of(use, params, metric_id)
    prepared = read_prepared(data, "test")
    table, metadata = read_artefact(explanations, "explanations")
    require_same_cell(
        (data, {"dataset": prepared.dataset}),
        (explanations, cell_of(metadata)),
        (checkpoint or "", checkpoint_ids(checkpoint) if checkpoint else {}),
    )
    ids = table.column("example_id").to_pylist()
    examples = Lookup(data, "example", ((e.example_id, e) for e in prepared.examples))
    chosen = sample([examples[name] for name in ids], max_examples)
    explained = metadata.ids, metadata.flags, {"max_examples": max_examples}
    texts = ChosenTexts(data, prepared, chosen, *explained, classes={})
    files = counterfactuals or (), foresight or (), predictions or ()
    scoring = Scoring(metric, texts, *files)
    facts = metric.entry.facts
    if facts.runs_model and checkpoint is None:
        raise InputError(f"metric {metric.id}: runs the model; name its --checkpoint")
    scoring.run(
        output,
        [explanations],
        [METHODS.get(metadata.use)] if facts.needs == "explainer" else [],
        checkpoint if facts.runs_model else None,
        machine,
        partial(_reading, scoring, table, metadata),
    )


class Metric(NamedTuple):
    """A metric with all its options."""

    entry: Entry[MetricFacts]
    id: str
    options: Mapping[str, Any]

    @classmethod
    def of(cls, use: str, params: Mapping[str, object], name: str | None) -> Metric:
        """Return a metric whose options are checked; its name is ``use`` if None."""
        entry = METRICS.get(use)
        name = name or use
        return cls(entry, name, complete(metric_options(entry), params, f"metric {name}"))


@dataclass(frozen=True)
class Scoring:
    """Test texts whose explanations one metric scores.

    Attributes:
        metric: the metric.
        texts: the texts.
        counterfactuals: the dataset's counterfactuals artefact, if there is one.
        foresight: the classifier's foresight artefact, if there is one.
        predictions: the classifier's predictions artefact, if there is one.

    Raises:
        InputError: the texts lack what the metric works with.
    """

    metric: Metric
    texts: ChosenTexts
    counterfactuals: Sequence[Path]
    foresight: Sequence[Path] = ()
    predictions: Sequence[Path] = ()

    def __post_init__(self) -> None:
        path = self.texts.path
        examples = self.texts.examples
        needs = self.metric.entry.facts.needs
        if needs == "rationale" and all(e.rationale is None for e in examples):
            raise InputError(
                f"{path}: no example has a rationale, which metric {self.metric.id} compares "
                "explanations with; leave the metric out for this data"
            )
        if needs == "counterfactual" and examples and not self.changed:
            raise InputError(
                f"{path}: no example has a counterfactual, which metric {self.metric.id} asks "
                "for words that it changes; name the artefact with --counterfactuals"
            )

    @cached_property
    def changed(self) -> ChangedWords:
        """Words of each example that its counterfactuals change."""
        texts = self.texts
        return read_changed_words(
            self.counterfactuals, texts.examples, texts.path, texts.data.dataset
        )

    @cached_property
    def _foresights(self) -> Lookup[str, tuple[int, Foresight]]:
        """Class and foresight of each text, of the metric's units and draws."""
        if not self.foresight:
            raise InputError(f"metric {self.metric.id}: name the classifier's --foresight")
        design = design_of(self.metric.options)
        return read_foresights(self.foresight[0], design, (self.texts.path, self.texts.ids))

    def _foreseen(
        self, examples: Sequence[Example], explanations: Sequence[Explanation]
    ) -> list[Foresight] | None:
        """Return what the classifier does with texts, for metrics that need it."""
        if self.metric.entry.facts.needs != "foresight":
            return None
        foresights = []
        for example, explanation in zip(examples, explanations, strict=True):
            target, foresight = self._foresights[example.example_id]
            if target != explanation.target:
                raise InputError(
                    f"{self.foresight[0]}: is of class {target} of example "
                    f"'{example.example_id}', and the explanation of class {explanation.target}; "
                    "give files that belong together"
                )
            foresights.append(foresight)
        return foresights

    @cached_property
    def _decisions(self) -> Lookup[str, int]:
        """Class that the classifier predicts for each text."""
        if not self.predictions:
            raise InputError(f"metric {self.metric.id}: name the classifier's --predictions")
        (path,) = self.predictions
        table, metadata = read_artefact(path, "predictions")
        require_same_cell((self.texts.path, self.texts.ids), (path, cell_of(metadata)))
        columns = (table.column(name).to_pylist() for name in ("example_id", "predicted"))
        return Lookup(path, "prediction of example", zip(*columns, strict=True))

    def _cohort(self, examples: Sequence[Example]) -> Cohort | None:
        """Return what is known of texts beside their explanations, for metrics that need it."""
        if self.metric.entry.facts.needs != "messages":
            return None
        return Cohort(
            [self._decisions[example.example_id] for example in examples],
            [example.match_id or example.example_id for example in examples],
            [example.group for example in examples],
        )

    @cached_property
    def _options(self) -> dict[str, object]:
        """Options of the metric, with the mean length of rationales where it needs that.

        It covers the whole test split: a part of it, or a sample, has another.
        """
        options = dict(self.metric.options)
        if self.metric.entry.facts.needs == "rationale" and options.get("top_k") == "mean":
            rationales = [example.rationale or () for example in self.texts.data.split("test")]
            options["top_k"] = mean_length([sum(marks) for marks in rationales])
        return options

    def run(
        self,
        output: Path,
        files: Sequence[Path],
        methods: Sequence[Entry[MethodFacts]],
        checkpoint: Path | None,
        machine: Inference,
        begin: Begin,
    ) -> None:
        """Score the texts."""
        metric = self.metric
        texts = self.texts
        facts = metric.entry.facts
        metric_passes = [facts.passes] if facts.runs_model else []
        job = Job(
            output,
            "random_scores" if "draws" in texts.choice else "scores",
            Ids({**texts.ids, "metric": metric.id}),
            {
                "use": metric.entry.id,
                "params": metric.options,
                "precision": machine.precision,
                **texts.choice,
            },
            files=[
                texts.path,
                *files,
                *self.counterfactuals,
                *self.foresight,
                *self.predictions,
            ],
            checkpoint=checkpoint,
            sources=[metric.entry.source, *SHARED_SOURCES, *(method.source for method in methods)],
            passes=prod([*metric_passes, *(method.facts.passes for method in methods)])
            * as_int(texts.choice.get("draws", 1)),
            load=partial(load, checkpoint, machine) if checkpoint else None,
            doing=f"evaluating {metric.id}",
            facts={
                **texts.data.compared,
                "flags": list(texts.flags),
                "bounds": facts.bounds_with(metric.options),
                "skill": facts.compared_by,
            },
            is_one_part=facts.scores_together,
        )
        table = run(job, texts.examples, begin)
        scores = table.column("score").to_numpy() if table else np.zeros(0)
        if undefined := int(np.isnan(scores).sum()):
            log.warning("%s is undefined for %d of %d examples", metric.id, undefined, len(scores))

    def _marked(self, example: Example, explanation: Explanation) -> Explanation:
        """Return an explanation with the marks that the text has, for metrics that need some."""
        if self.metric.entry.facts.needs not in MARKS:
            return explanation
        changed_words = self.changed.get(example.example_id)
        return replace(explanation, rationale=example.rationale, changed_words=changed_words)

    def score(
        self,
        classifier: Classifier | None,
        examples: Sequence[Example],
        explanations: Sequence[Explanation],
    ) -> tuple[list[dict[str, object]], dict[str, int]]:
        """Return a row of each explanation, one per example, and what the metric counted.

        Random draws of the metric are those of the example, whatever explains it.
        """
        marked = [*map(self._marked, examples, explanations)]
        keys = [example.example_id for example in examples]
        notes = Counter[str]()
        falls: dict[int, Falls] = {}
        if self.changed:
            notes["unchanged"] = n_unchanged(self.changed, examples)
        foresights = self._foreseen(examples, explanations)
        values = evaluate_keyed(
            classifier,
            marked,
            keys,
            self.metric.entry.id,
            self.texts.ids.seed,
            dict(self._options),
            notes,
            falls,
            foresights,
            self._cohort(examples),
        )
        scored = zip(examples, values.tolist(), strict=True)
        rows = [{**key_of(example), "score": value} for example, value in scored]
        for index, text_falls in falls.items():
            rows[index] |= {
                "sizes": text_falls.sizes.tolist(),
                "falls": text_falls.probability.tolist(),
                "falls_log_odds": text_falls.log_odds.tolist(),
            }
        if foresights and not design_of(self.metric.options).is_one_by_one:
            for row, foresight in zip(rows, foresights, strict=True):
                row |= {"n_units": foresight.left_out.shape[1], "ceiling": foresight.ceiling}
        return rows, dict(notes)


def _reading(scoring: Scoring, table: pa.Table, metadata: Provenance, rest: Rest) -> Compute:
    """Return the function that scores the stored explanations of a part."""
    positions = {key: at for at, key in enumerate(table.column("example_id").to_pylist())}
    made_by = Origin(metadata.use, metadata.params, metadata.ids.seed, "")

    def compute(part: Sequence[Example]) -> tuple[list[dict[str, object]], dict[str, object]]:
        rows = records(_Row, table.take([positions[example.example_id] for example in part]))
        explanations = [
            _explanation(example, row, made_by) for example, row in zip(part, rows, strict=True)
        ]
        scores, notes = scoring.score(rest.model, part, explanations)
        cut = _n_cut(part, explanations) if metadata.get("n_truncated") else 0
        if not cut:
            return scores, {"notes": notes}
        flags = sorted({*scoring.texts.flags, CUT_TEXTS})
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


@dataclass(frozen=True)
class _Row:
    """A row of explanations."""

    target: int
    token_ids: list[int]
    tokens: list[str]
    word_ids: list[int]
    scores: list[float]


def _explanation(example: Example, row: _Row, made_by: Origin) -> Explanation:
    """Return an explanation with its origin, for metrics that explain again."""
    word_ids = np.array(row.word_ids, dtype=np.int64)
    return Explanation(
        text=example.text,
        target=row.target,
        token_ids=np.array(row.token_ids, dtype=np.int64),
        tokens=row.tokens,
        scores=np.array(row.scores, dtype=np.float64),
        special_mask=word_ids < 0,
        word_ids=word_ids,
        origin=replace(made_by, key=example.example_id),
        pair=example.pair,
        written=example.parts,
    )
