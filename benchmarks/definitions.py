"""Count the tests that another definition of a metric or a method decides otherwise.

Usage: python benchmarks/definitions.py RESULTS

Scores the explanations below RESULTS with both definitions, tests both, and prints a line for each
change: of how many cells, how many are significant before and after (Mann–Whitney), how many are
decided otherwise (Mann–Whitney, and the signed rank where there are pairs), in how many the mean
difference changes sign while both are significant, and the mean absolute difference. Cells whose
scores are rounding noise are left out. RESULTS needs data, models and explanations, and for the
pooling of integrated gradients one instance of each. The output of a model in `logit` is its logit.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from shared import markdown

from exparity import Classifier, Explanation, GroupComparison, compare_groups, load_classifier
from exparity import evaluate as score
from exparity.artefacts import layout
from exparity.artefacts.files import read_artefact
from exparity.data.table import PreparedData, read_prepared
from exparity.engine.objectives import Outputs
from exparity.methods._gradients import ROUNDING_NOISE
from exparity.metrics import MetricBatch, mean_length
from exparity.metrics.soft_erasure import mean_soft_drop
from exparity.types import SPECIAL_WORD, Example, FloatArray

ALPHA = 0.05
SOFT = ("soft_comprehensiveness", "soft_sufficiency")
OF_ATTRIBUTIONS = (*SOFT, "comprehensiveness", "sufficiency", "gini", "sparsity")
Options = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """The explanations of one classifier by one method."""

    method: str
    options: Options
    noise: bool
    classifier: Classifier
    examples: list[Example]
    explanations: list[Explanation]
    order: tuple[str, str]

    def test(self, values: FloatArray) -> GroupComparison:
        """Compare the groups, without an interval."""
        groups = [example.group for example in self.examples]
        pairs = [example.match_id for example in self.examples]
        return compare_groups(values, groups, self.order, pairs, resamples=0)


Values = Callable[[Cell], FloatArray]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    torch.set_num_threads(1)
    cells = list(read_cells(parser.parse_args().results))
    real = [cell for cell in cells if not cell.noise]
    explanations = [explanation for cell in real for explanation in cell.explanations]
    marks = [sum(e.rationale) for e in explanations if e.rationale is not None]
    pairs = changes(mean_length(marks) if marks else 0)
    rows = [
        line(name, [(cell.test(before(cell)), cell.test(after(cell))) for cell in real])
        for name, before, after in pairs
    ]
    print(markdown([*rows, *poolings(cells)]))


def changes(rationale: int) -> Iterator[tuple[str, Values, Values]]:
    """Yield what changes, and how values are computed before and after."""
    by_threshold = {"based_on": "threshold"}
    study = {**by_threshold, "average_over": "all"}
    pairs: list[tuple[str, str, Options, Options]] = []
    for metric in ("comprehensiveness", "sufficiency"):
        pairs.append((metric, "by threshold: distinct, all", by_threshold, study))
        pairs.append((metric, "default, study text", {}, study))
    sequence, content = ({"normalise_over": over} for over in ("sequence", "content"))
    pairs.append(("sparsity", "sequence, content", sequence, content))
    pairs += [(metric, "free, retained_share 0.5", {}, {"retained_share": 0.5}) for metric in SOFT]
    for metric in ("rationale_token_f1", "rationale_iou") if rationale else ():
        after = {"top_k": rationale, "attribution": "positive"}
        pairs.append((metric, f"5 absolute, {rationale} positive", {}, after))
    for metric, name, before, after in pairs:
        yield f"{metric}: {name}", using(metric, before), using(metric, after)
    for metric in SOFT:
        yield f"{metric}: probability, logit", using(metric, {}), of_logits(metric)


def using(metric: str, options: Options) -> Values:
    return lambda cell: score(cell.classifier, cell.explanations, metric, **options)


def of_logits(metric: str) -> Values:
    """Return a soft metric whose p is the target's logit; without bounds."""

    def values(cell: Cell) -> FloatArray:
        keep = metric == "soft_sufficiency"
        drop = mean_soft_drop(
            MetricBatch(
                classifier=Logits(cell.classifier),  # type: ignore[arg-type]
                explanations=tuple(cell.explanations),
                scores=tuple(e.scores for e in cell.explanations),
                keys=tuple(e.text for e in cell.explanations),
                seed=0,
                metric=metric,
            ),
            keep=keep,
            num_samples=10,
            retained_share=None,
        )
        return 1 - drop if keep else drop

    return values


class Logits:
    """A classifier whose probabilities are its logits, as far as soft erasure asks for them."""

    def __init__(self, classifier: Classifier) -> None:
        self.classifier = classifier
        self.embed, self.without_types = classifier.embed, classifier.without_types

    def outputs_of(self, lengths: Sequence[int], build: Any) -> Outputs:
        """Return (n, c) logits in place of probabilities."""
        logits = self.classifier.outputs_of(lengths, build).logits
        return Outputs(logits, logits)


def poolings(cells: Sequence[Cell]) -> Iterator[dict[str, Any]]:
    """Compare instances of integrated gradients that differ in their pooling, metric by metric."""
    of = [cell for cell in cells if cell.method == "integrated_gradients"]
    summed = [cell for cell in of if cell.options.get("pooling", "sum") == "sum"]
    normed = [cell for cell in of if cell.options.get("pooling") == "l2"]
    for metric in OF_ATTRIBUTIONS if summed and normed else ():
        value = using(metric, {})
        tests = [[cell.test(value(cell)) for cell in part] for part in (summed, normed)]
        yield line(f"{metric} of integrated_gradients: sum, l2", list(zip(*tests, strict=True)))


def line(name: str, tests: Sequence[tuple[GroupComparison, GroupComparison]]) -> dict[str, Any]:
    """Return the line of one change."""
    significant = np.array([[test.p <= ALPHA for test in both] for both in tests])
    paired = np.array([[test.wilcoxon_p <= ALPHA for test in both] for both in tests])
    gaps = np.array([[test.mean_difference for test in both] for both in tests])
    turned = significant.all(1) & (np.sign(gaps[:, 0]) != np.sign(gaps[:, 1]))
    return {
        "change": name,
        "cells": len(tests),
        "significant": f"{significant[:, 0].sum()} → {significant[:, 1].sum()}",
        "decided otherwise": int((significant[:, 0] != significant[:, 1]).sum()),
        "…signed rank": int((paired[:, 0] != paired[:, 1]).sum()),
        "other sign": int(turned.sum()),
        "mean difference": " → ".join(f"{gap:.3f}" for gap in np.nanmean(np.abs(gaps), axis=0)),
    }


def read_cells(results: Path) -> Iterator[Cell]:
    data: dict[str, PreparedData] = {}
    for ids, path in layout.files(results, "explanations"):
        dataset, model, seed, _ = ids
        if dataset not in data:
            data[dataset] = read_prepared(results / "data" / f"{dataset}.parquet", "test")
        table, metadata = read_artefact(path, "explanations")
        by_id = {example.example_id: example for example in data[dataset].examples}
        examples = [by_id[id] for id in table.column("example_id").to_pylist()]
        yield Cell(
            method=metadata.use,
            options=dict(metadata.params),
            noise=ROUNDING_NOISE in metadata.flags,
            classifier=load_classifier(results / "models" / dataset / model / seed, shortcuts=True),
            examples=examples,
            explanations=[
                explanation_of(example, row)
                for example, row in zip(examples, table.to_pylist(), strict=True)
            ],
            order=data[dataset].groups[:2],  # type: ignore[arg-type]
        )


def explanation_of(example: Example, row: dict[str, Any]) -> Explanation:
    words = np.array(row["word_ids"])
    columns = {key: row[key] for key in ("target", "token_ids", "tokens", "scores")}
    return Explanation(
        text=example.text,
        special_mask=words == SPECIAL_WORD,
        word_ids=words,
        rationale=example.rationale,
        **columns,
    )


if __name__ == "__main__":
    main()
