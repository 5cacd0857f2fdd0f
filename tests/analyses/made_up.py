"""Artefacts of every analysis, made up, for a dataset of matched sets."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

from exparity.artefacts.files import write_artefact

SCHEMES = {"c": "bert_c", "ce": "bert_ce", "cef": "bert_cef", "cefaf": "bert_cefaf",
           "ola": "ola_cea"}  # fmt: skip
METHODS = ("pattern_variant", "gradient_x_input", "uniform_random")
MEANS = {"pattern_variant": 0.6, "gradient_x_input": 0.4, "uniform_random": 0.2}
GROUPS = ("male", "female")
FACTS = {"groups": list(GROUPS), "labels": ["female", "male"], "attribute": "gender"}
NAN = math.nan


@dataclass
class Grid:
    """A results folder with the artefacts of every analysis, two seeds, and its options."""

    folder: Path
    models: tuple[str, ...] = tuple(SCHEMES)
    means: dict[str, dict[str, float]] = field(default_factory=dict)
    dataset: str = "geco"
    methods: tuple[str, ...] = METHODS
    metric: str = "mass"

    @property
    def options(self):
        return {
            "analyses": self.analyses,
            "seeds": [0, 1],
            "models": [[model, SCHEMES[model]] for model in self.models],
            "datasets": [[self.dataset, "geco_all"]],
            "statistics": {"alpha": 0.05},
        }

    @property
    def analyses(self):
        """The cells of each analysis, as the workflow passes them to the report."""
        cells = [[self.dataset, model] for model in self.models]
        return {
            "correctness": cells,
            "attribution_difference": cells[:1],
            "dataset_bias": [[self.dataset]],
            "mlm_score": cells[:1],
        }

    def write(self, artefact, rows, *cell):
        names = ("dataset", "model", "seed")[: len(cell)]
        path = self.folder.joinpath(artefact, *map(str, cell)).with_suffix(".parquet")
        ids = dict(zip(names, cell, strict=True))
        write_artefact(path, artefact, rows, ids, stage="x", parameters={}, extra=FACTS)

    def make(self):
        for model in self.models:
            for seed in (0, 1):
                rows = [
                    {
                        "method": method, "metric": self.metric, "subset": subset, "group": group,
                        "n": 10, "n_undefined": 1, "sd": 0.1, "median": 0.3,
                        "mean": self.means.get(model, MEANS)[kind] + 0.02 * seed,
                    }
                    for method, kind in zip(self.methods, METHODS, strict=True)
                    for subset in ("all", "correct", "correct_sets")
                    for group in ("", *GROUPS)
                ]  # fmt: skip
                self.write("correctness", rows, self.dataset, model, seed)
        for seed in (0, 1):
            cell = self.dataset, self.models[0], seed
            rows = differences(self.methods[1], seed)
            self.write("attribution_differences", rows, *cell)
            self.write("mlm_scores", mlm_rows(seed), *cell)
        self.write("dataset_bias", BIAS, self.dataset)
        return self


def differences(method, seed):
    def row(a, b, p, p_holm, n_sets):
        return {
            "method": method, "group_a": "male", "group_b": "female", "word_a": a,
            "word_b": b, "n_sets": n_sets, "n_words": n_sets, "mean_a": 0.3, "mean_b": 0.2,
            "mean_difference": 0.1 + 0.2 * seed, "mean_absolute_difference": 0.15, "d_z": 0.5,
            "p": p, "p_holm": p_holm,
        }  # fmt: skip

    rare = [row(f"<{i:02d}>", "b", 0.5, 0.9, 7) for i in range(12)]
    return [
        row("", "", 0.01, 0.01, 40),
        row("he", "she", 0.04, 0.08 - 0.05 * seed, 30),
        row("king", "queen", NAN, NAN, 3),
        *rare,
    ]


def mlm_rows(seed):
    return [
        {
            "example_id": f"{i}-{group}",
            "group": group,
            "match_id": str(i),
            "n_words": 5,
            "n_tokens": 6,
            "mlm_score": 10.0 + i + (group == "female") + seed,
            "log_likelihood": -20.0 - i - (group == "female") * (i > 1),
        }
        for i in range(8)
        for group in GROUPS
    ]


def bias_row(quantity, value, n, **more):
    empty = {"group": "", "class_name": "", "word": "", "rationale_share": NAN, "split": "all"}
    return {**empty, "quantity": quantity, "value": value, "n": n, **more}


BIAS = [
    bias_row("cooccurrence", 120.0, 9, group="male"),
    bias_row("cooccurrence", 80.0, 8, group="female"),
    bias_row("cooccurrence_share", 0.6, 9, group="male"),
    bias_row("cooccurrence_share", 0.4, 8, group="female"),
    *(
        bias_row("tfidf_correlation", r * (1 if name == "male" else -1), 4, class_name=name,
                 word=word, rationale_share=share)
        for name in ("female", "male")
        for word, r, share in (
            ("he", 0.9, 1.0), ("she", -0.8, 1.0), ("<b>", 0.0, NAN), ("x", NAN, 0.0)
        )
    ),
]  # fmt: skip
