"""Made-up studies of any size: what the jobs of each stage and analysis write, with their ids."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from exparity.analyses.positive_control import control_power
from exparity.analyses.ranking import rank_methods
from exparity.artefacts import layout
from exparity.artefacts.files import read_artefact, write_artefact
from exparity.artefacts.grid import Grid
from exparity.artefacts.schemas import schema_of
from exparity.config.experiment import Experiment
from exparity.report.rows import VerdictRow
from exparity.stages.compare import compare_model
from exparity.stages.judge import judge_cells
from exparity.stats.bootstrap import Draws
from exparity.stats.model_bias import model_bias
from exparity.stats.predictions import predictions_of
from exparity.stats.seeds import SeedTest

METHODS = ("gradient", "gradient_x_input", "integrated_gradients", "integrated_gradients_x_input",
           "lime", "shap")  # fmt: skip
METRICS = ("comprehensiveness", "sufficiency", "soft_comprehensiveness", "soft_sufficiency", "gini",
           "sparsity", "sensitivity")  # fmt: skip
GROUPS = ("male", "female")
LABELS = ("female", "male")
HOSTILE = "<script>alert('token')</script>"
DRAWS = 2
VERDICTS = "verdicts.parquet"
COMPARED = ("tests", "across_trainings", "levels")
_BERT = {"init": "scratch", "architecture": "bert"}
NAN = math.nan


def config(
    datasets: int = 2,
    models: int = 2,
    seeds: int = 2,
    methods: int = len(METHODS),
    metrics: int = len(METRICS),
) -> dict:
    """Return the config of a study of some size."""
    return {
        "title": "A made-up study",
        "datasets": {f"data_{i}": {"use": "pairs_all"} for i in range(datasets)},
        "models": {f"model_{i}": dict(_BERT) for i in range(models)},
        "methods": {name: {} for name in METHODS[:methods]},
        "metrics": {name: {} for name in METRICS[:metrics]},
        "seeds": list(range(seeds)),
    }


def options_of(settings: dict) -> dict:
    """Return what the report depends on, as the workflow passes it."""
    return Experiment.from_mapping(settings).report_options()


def grid_of(settings: dict) -> Grid:
    """Return the grid of a config."""
    return Experiment.from_mapping(settings).grid


def keys_of(n: int, groups: Sequence[str] = GROUPS, *, matched: bool = True) -> list[dict]:
    """Return the ids of n sets with a text of each group, or of texts in no set."""
    return [
        {"example_id": f"{i:03d}-{group}", "group": group, "match_id": f"{i:03d}" * matched or None}
        for i in range(n)
        for group in groups
    ]


class Results:
    """A results folder."""

    def __init__(self, root: Path, groups: Sequence[str] = GROUPS) -> None:
        self.root, self.groups = root, tuple(groups)

    def write(self, artefact: str, rows: list, *place: str | int, **changes: Any) -> Path:
        """Write rows where the artefact lies whose ids are ``place``.

        ``changes`` are arguments of :func:`write_artefact`, or facts beside the rows.
        """
        ids = dict(zip(layout.levels(artefact), place, strict=True))
        path = self.path(artefact, *place)
        facts = {"attribute": "gender", "groups": list(self.groups), "labels": list(LABELS)}
        facts["wall_seconds"] = 1.5
        parameters = changes.pop("parameters", {"params": {}})
        write_artefact(
            path, artefact, rows, ids, parameters=parameters, extra={**facts, **changes}
        )  # fmt: skip
        return path

    def write_scores(self, keys: list, values: Any, *place: str | int, **changes: Any) -> Path:
        """Write the (n,) scores of n keys, or the (draws, n) scores of random explanations."""
        if np.ndim(values) < 2:
            rows = [{**key, "score": float(v)} for key, v in zip(keys, values, strict=True)]
            return self.write("scores", rows, *place, **changes)
        rows = [
            {**key, "draw": draw, "score": float(v)}
            for draw, drawn in enumerate(values)
            for key, v in zip(keys, drawn, strict=True)
        ]
        return self.write("random_scores", rows, *place, **changes)

    def write_texts(self, keys: list, labels: list, dataset: str) -> Path:
        """Write the data of n keys, each a test example of two words."""
        text = {"split": "test", "text": "a b", "words": ["a", "b"], "rationale": None}
        text["attributes"] = []
        rows = [{**key, **text, "label": y} for key, y in zip(keys, labels, strict=True)]
        return self.write("data", rows, dataset)

    def write_predictions(self, keys: list, labels: list, predicted: list, *place: Any) -> Path:
        """Write the (n,) predictions of n keys, of which none is certain."""
        rows = [
            {**key, "label": label, "predicted": other, "probabilities": [0.5, 0.5]}
            for key, label, other in zip(keys, labels, predicted, strict=True)
        ]
        return self.write("predictions", rows, *place)

    def add_seed(self, artefact: str, rows: list, *place: str | int, **changes: Any) -> Path:
        """Write rows of a seed after those of others that a file of several seeds has already."""
        path = self.path(artefact, *place)
        if path.is_file():
            seeds = {row["seed"] for row in rows}
            kept = read_artefact(path, artefact)[0].drop_columns(["dataset", "model"]).to_pylist()
            rows = [*(row for row in kept if row["seed"] not in seeds), *rows]
        return self.write(artefact, rows, *place, **changes)

    def path(self, artefact: str, *place: str | int) -> Path:
        ids = dict(zip(layout.levels(artefact), place, strict=True))
        return self.root / layout.path_of(artefact, ids)

    def of_model(self, artefact: str, dataset: str, model: str) -> list[Path]:
        return sorted((self.root / artefact / dataset / model).rglob("*.parquet"))


def make_study(
    root: Path,
    settings: dict,
    *,
    pairs: int = 30,
    groups: Sequence[str] = GROUPS,
    collapsed: tuple = (),
    scored: Callable[[str, str, np.ndarray], np.ndarray] = lambda method, metric, scores: scores,
) -> Path:
    """Write every artefact of a study.

    Args:
        root: its results folder.
        settings: its config, of which ids alone count.
        pairs: matched sets in the test split. In the first, a word is markup.
        groups: of which each set has a text.
        collapsed: dataset, model and seed of a classifier that predicts one class.
        scored: what is written for the scores of a method by a metric.
    """
    results, rng = Results(root, groups), np.random.default_rng(7)
    for dataset in settings["datasets"]:
        examples = [_example(i, group, groups) for i in range(pairs) for group in groups]
        results.write("data", examples, dataset)
        for model in settings["models"]:
            for seed in settings["seeds"]:
                cell = dataset, model, seed
                certain = rng.uniform(0.6, 1, len(examples))
                _classified(results, cell, examples, certain, cell == collapsed)
                _explained(results, cell, settings, examples, rng, scored)
            _over_all(results, dataset, model)
    given = (sorted((root / name).rglob("*.parquet")) for name in ("across_trainings", "tests"))
    judge_cells(*given, None, root / VERDICTS, root / "disparity.parquet")
    return root


def _over_all(results: Results, dataset: str, model: str) -> None:
    """Write what is compared of a model, with intervals where there are too few texts for one."""
    names = ("predictions", "scores", "random_scores")
    given = [results.of_model(name, dataset, model) for name in names]
    rank_methods(*given, results.root / f"ranking/{dataset}/{model}.parquet")
    outputs = [results.root / f"{name}/{dataset}/{model}.parquet" for name in COMPARED]
    data = results.root / f"data/{dataset}.parquet"
    compare_model(data, *given, *outputs, statistics={"resamples": 0})
    rows = [
        row | {"d_ci_low": row["cohens_d"] - 0.2, "d_ci_high": row["cohens_d"] + 0.2}
        for row in read_artefact(outputs[0], "tests")[0].to_pylist()
    ]
    if limits := results.of_model("removal_limits", dataset, model):
        control = results.root / f"positive_control/{dataset}/{model}.parquet"
        control_power(given[0], None, control, limits)
    outputs[0].unlink()  # what a later job has written stays
    results.write("tests", rows, dataset, model)


def _example(i: int, group: str, groups: Sequence[str]) -> dict:
    first = group == groups[0]
    words = [["She", "He"][first], "sails", "without haste", f"to-{i}", "."]
    words += [HOSTILE] if i == 0 else []
    return {
        "example_id": f"{i:04d}-{group}", "match_id": f"{i:04d}", "split": "test",
        "text": " ".join(words), "words": words, "group": group,
        "label": int(first) if len(groups) == 2 else i % 2,
        "rationale": [1] + [0] * (len(words) - 1), "attributes": [],
    }  # fmt: skip


def _tokens(example: dict) -> tuple[list[str], list[int]]:
    """Return tokens and the word of each; the third word, which holds a blank, is three pieces."""
    tokens, words = ["[CLS]"], [-1]
    for w, word in enumerate(example["words"]):
        pieces = [word[:4], f"##{word[4:7]}", word[8:]] if w == 2 else [word.lower()]
        tokens += pieces
        words += [w] * len(pieces)
    return [*tokens, "[SEP]"], [*words, -1]


def of_example(example: dict, *names: str) -> dict:
    return {name: example[name] for name in ("example_id", "group", "match_id", *names)}


def _classified(results: Results, cell: tuple, examples: list, certain, has_collapsed) -> None:
    """Write the predictions of a classifier, and its bias."""
    rows = [
        {
            **of_example(example, "label"),
            "probabilities": [float(p), float(1 - p)][:: 1 - 2 * example["label"]],
            "predicted": 1 if has_collapsed else example["label"],
        }
        for example, p in zip(examples, certain, strict=True)
    ]
    results.write("predictions", rows, *cell)
    names = ("label", "predicted", "probabilities", "group")
    columns = [[row[name] for row in rows] for name in names]
    sets = [row["match_id"] for row in rows]
    data = predictions_of(*columns, results.groups, LABELS, sets)
    found = model_bias(data, Draws(resamples=0))
    *of_model, seed = cell
    results.add_seed("bias", [{**vars(row), "seed": seed} for row in found], *of_model)


def _explained(results: Results, cell: tuple, settings: dict, examples: list, rng, scored) -> None:
    """Write explanations, their scores, and those of random ones."""
    keys = [of_example(example) for example in examples]
    for metric in settings["metrics"]:
        drawn = rng.normal(size=(DRAWS, len(examples)))
        if metric != "sensitivity":  # which explains again
            results.write_scores(keys, drawn, *cell, metric, parameters={"use": metric})
    if {"comprehensiveness", "sufficiency"} & {*settings["metrics"]}:
        falls = {"random": [0.1], "random_log_odds": [0.1]}
        falls |= {"unit": "token", "size": 1, "reference": 0.2, "reference_log_odds": 0.2}
        rows = [{**key, "direction": "removed", **falls} for key in keys]
        results.write("removal_limits", rows, *cell)
    for m, method in enumerate(settings["methods"]):
        rows = []
        for example in examples:
            tokens, words = _tokens(example)
            scores = rng.normal(size=len(tokens)).astype(np.float32).tolist()
            rows.append({
                "example_id": example["example_id"], "target": example["label"], "tokens": tokens,
                "token_ids": list(range(len(tokens))), "word_ids": words, "scores": scores,
            })  # fmt: skip
        results.write("explanations", rows, *cell, method, device="cuda")
        for k, metric in enumerate(settings["metrics"]):
            values = rng.normal(size=len(examples))
            values += (m - k) / 5 * np.array([e["group"] == results.groups[0] for e in examples])
            values = scored(method, metric, values)
            results.write_scores(keys, values, *cell, method, metric, parameters={"use": metric})


IDS = {"dataset": "pairs", "model": "bert", "seed": 3, "method": "lime"}
MODEL = {"init": "scratch", "architecture": "bert", "size": {"hidden_size": 8}}


def value(kind: pa.DataType, i: int) -> Any:
    """Return the first or second of two values of a type, in the order of sorting."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_list(kind):
        return [value(kind.value_type, 1), value(kind.value_type, i)]
    if pa.types.is_struct(kind):
        return {field.name: value(field.type, i) for field in kind}
    if pa.types.is_integer(kind):
        return (2, 10)[i]
    if pa.types.is_floating(kind):
        return (-0.25, 0.5)[i]
    return (False, True)[i] if pa.types.is_boolean(kind) else ("Zü", "a")[i]


def filled(artefact: str, **values: Any) -> dict:
    """Return a row of an artefact; columns that are not given hold any value of their type."""
    ids = layout.levels(artefact)
    columns = {f.name: value(f.type, 0) for f in schema_of(artefact) if f.name not in ids}
    return columns | values


def verdict_row(verdict: str | None = "different", **changes: Any) -> VerdictRow:
    """Return a row of the verdicts artefact: a gap of which three trainings agree."""
    cell = {"dataset": "d", "model": "m", "method": "lime", "metric": "gini", "quantity": "excess"}
    cell |= {"group_a": "a", "group_b": "b", "better_group": "a", "flags": []}
    cell |= {"stands": True, "headline": True, "witness": None, "surer_of": ""}
    sizes = {"d": 0.5, "rms_low": 0.1, "rms_high": 0.9, "certainty_d": NAN}
    seeds = {"n_seeds": 3, "seeds_above": 3, "seeds_below": 0}
    said = dict.fromkeys(("verdict", "verdict_strict", "verdict_right"), verdict)
    unknown = ("share_right_a", "share_right_b", "length_d", "ceiling_a", "ceiling_b", "counting_d")
    sizes |= dict.fromkeys(unknown, NAN)
    columns = filled("verdicts", **{**cell, **sizes, **seeds, **said, **changes})
    return VerdictRow(**columns)


def seed_test(**changes: Any) -> SeedTest:
    """Return the test of a cell in one training, without a difference."""
    cell = {"method": "lime", "metric": "gini", "group_a": "a", "group_b": "b"}
    return SeedTest(**cell | changes)


class MadeUp(Results):
    """What the jobs of one cell write: rows of any content, and round amounts of time."""

    def write_rows(self, artefact: str, n: int, *place: str | int, **facts: Any) -> Path:
        """Write n rows, each with an id of its own where the artefact has ids of examples."""
        row = filled(artefact)
        rows = [row | {"example_id": str(i)} if "example_id" in row else row for i in range(n)]
        return self.write(artefact, rows, *place, **facts)

    def write(self, artefact: str, rows: list, *place: str | int, **facts: Any) -> Path:
        # What this process has used is none of the made-up job's.
        used = {"wall_seconds": 1.0, "cpu_seconds": 0.25, "max_rss_mb": 50.0}
        place = place or tuple(IDS[name] for name in layout.levels(artefact))
        return super().write(artefact, rows, *place, **used | facts)

    def data(self, train=20, test=8):
        splits = ["train"] * train + ["test"] * test
        rows = [filled("data", example_id=str(i), split=split) for i, split in enumerate(splits)]
        parameters = {"use": "pairs_all", "n_pairs": len(rows) // 2}
        self.write("data", rows, parameters=parameters, wall_seconds=2.0)

    def training(self, epochs=3, n=8, device="cuda:0", **facts):
        facts |= {"parameters": {"model": MODEL, "training": {"epochs": epochs, "batch_size": 16}}}
        times = {"work_seconds": 2.0 * epochs, "earlier_seconds": 0.0}
        folder = self.write_rows("history", epochs, **times | facts).parent
        (folder / "model.safetensors").write_bytes(b"x" * 5000)
        self.write_rows("predictions", n, device=device, **facts | {"wall_seconds": 10.0})

    def explanations(self, n=8, **facts):
        self.write_rows("explanations", n, device="cuda:0", parameters={"use": "lime"}, **facts)

    def scores(self, metric="gini", n=8, **facts):
        place = *IDS.values(), metric
        self.write_rows("scores", n, *place, device="cpu", parameters={"use": metric}, **facts)


SCHEMES = {"c": "bert_c", "ce": "bert_ce", "cef": "bert_cef", "cefaf": "bert_cefaf",
           "ola": "ola_cea"}  # fmt: skip
RANKED = ("pattern_variant", "gradient_x_input", "uniform_random")
MEANS = {"pattern_variant": 0.6, "gradient_x_input": 0.4, "uniform_random": 0.2}


class Analyses(Results):
    """The artefacts of every analysis, two seeds, and the grid that has them."""

    def __init__(self, root, models=tuple(SCHEMES), dataset="geco", methods=RANKED, metric="mass"):
        super().__init__(root)
        self.models, self.dataset, self.methods, self.metric = models, dataset, methods, metric

    @property
    def grid(self):
        return Grid(
            pairs=[(self.dataset, model) for model in self.models],
            seeds=[0, 1],
            methods={method: method for method in self.methods},
            metrics={self.metric: "mass_accuracy"},
            analyses=self.analyses,
            title="t",
            datasets={self.dataset: "geco_all"},
            models={model: SCHEMES[model] for model in self.models},
        )

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

    def make(self):
        common = filled("correctness", metric=self.metric, n=10, n_undefined=1, sd=0.1)
        for model in self.models:
            for seed in (0, 1):
                rows = [
                    {
                        **common, "method": method, "subset": subset, "group": group,
                        "mean": MEANS[kind] + 0.02 * seed,
                    }
                    for method, kind in zip(self.methods, RANKED, strict=False)
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
        return filled(
            "attribution_differences", method=method, group_a="male", group_b="female", word_a=a,
            word_b=b, n_sets=n_sets, mean_difference=0.1 + 0.2 * seed, p=p, p_holm=p_holm,
            p_pooled=NAN if a else 0.02,
        )  # fmt: skip

    rare = [row(f"<{i:02d}>", "b", 0.5, 0.9, 7) for i in range(12)]
    return [
        row("", "", 0.01, 0.01, 40),
        row("he", "she", 0.04, 0.08 - 0.05 * seed, 30),
        row("king", "queen", NAN, NAN, 3),
        *rare,
    ]


def mlm_rows(seed):
    return [
        filled(
            "mlm_scores", example_id=f"{i}-{group}", group=group, match_id=str(i),
            mlm_score=10.0 + i + (group == "female") + seed,
            log_likelihood=-20.0 - i - (group == "female") * (i > 1),
        )
        for i in range(8)
        for group in GROUPS
    ]  # fmt: skip


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
