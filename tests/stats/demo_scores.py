"""Check the verdicts of the finished default experiment, and store its scores for the tests.

Usage: PYTHONPATH=tests python -m stats.demo_scores RESULTS

Every verdict is computed again from the artefacts in RESULTS by ``recomputed.py``, at full
precision. Where a number or a word differs, nothing is written and the exit code is 1. Otherwise
``demo_scores.parquet`` gets the scores, in coarse steps and without texts, and
``demo_verdicts.csv`` the words. Run it again after a change that moves scores of the experiment.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from stats import recomputed
from stats.recomputed import METHODS, QUANTITIES, SCALES, Study

HERE = Path(__file__).parent
SCORES = HERE / "demo_scores.parquet"
WORDS = HERE / "demo_verdicts.csv"
DATASETS = "bios", "bios_planted"
MODEL = "bert_scratch"
SEEDS = range(7)
NONE = np.iinfo(np.int16).min
FACTS = "seed", "group", "set", "n_units", "n_words"
KEYS = ["dataset", "method", "metric", "quantity"]
TOLERANCE = {"rms_low": 1e-7, "rms_high": 1e-7}  # the product's search ends at 1e-6 in p
COMPARED = ["verdict", "verdict_strict", "verdict_right", "flags"]
_RANDOM = METHODS[-1]


def read_study(results, dataset):
    """Return the scores of a dataset, from the artefacts of a finished run."""
    first = pd.read_parquet(
        results / "scores" / dataset / MODEL / "0" / "lime" / "forward_simulation.parquet"
    ).sort_values("example_id")
    ids = first["example_id"].tolist()
    data = pd.read_parquet(results / "data" / f"{dataset}.parquet").set_index("example_id")
    by_name = {}
    for seed in SEEDS:
        for name, values in _of_training(results, dataset, seed, ids).items():
            by_name.setdefault(name, []).append(values)
    sets = pd.factorize(first["match_id"])[0]
    return Study(
        is_first=(first["group"] == "male").to_numpy(),
        sets=sets,
        n_units=first["n_units"].to_numpy(float),
        n_words=data.loc[ids, "words"].map(len).to_numpy(float),
        values={name: np.array(rows) for name, rows in by_name.items()},
    )


def _of_training(results, dataset, seed, ids):
    """Return the (n,) values of a training by name, of texts with the given ids."""
    place = Path(dataset) / MODEL / str(seed)

    def read(kind, *parts):
        path = results.joinpath(kind, place, *parts)
        table = pd.read_parquet(path.with_name(f"{path.name}.parquet"))
        return table.sort_values("example_id", kind="stable")

    predictions = read("predictions").set_index("example_id").loc[ids]
    rows = zip(predictions["probabilities"], predictions["label"], strict=True)
    found = {
        "certainty": np.array([float(probabilities[label]) for probabilities, label in rows]),
        "right": (predictions["label"] == predictions["predicted"]).to_numpy(float),
    }
    limits = read("removal_limits")
    limits = limits[limits["direction"] == "removed"].sort_values("size", kind="stable")
    limits = dict(tuple(limits.groupby("example_id")))
    found["counting"] = np.array(
        [recomputed.units_that_count(limits[id]["reference_log_odds"]) for id in ids]
    )
    for metric, quantities in QUANTITIES.items():
        drawn = read("random_scores", metric)
        is_first = drawn["draw"] == 0
        for method in METHODS:
            is_random = method == _RANDOM
            table = drawn[is_first] if is_random else read("scores", method, metric)
            others = drawn[~is_first] if is_random else drawn
            table = table.set_index("example_id").loc[ids]
            score = table["score"].to_numpy()
            chance = others.groupby("example_id")["score"].mean().loc[ids].to_numpy()
            found[f"{metric}/score/{method}"] = score
            if "excess" in quantities:
                found[f"{metric}/excess/{method}"] = score - chance
            if "skill" in quantities:
                steps = [_steps(limits[id], None if is_random else table.loc[id]) for id in ids]
                for scale in SCALES:
                    parts = np.array([step[scale] for step in steps]).T
                    found[f"gain/{scale}/{method}"], found[f"room/{scale}/{method}"] = parts
            if metric == "forward_simulation" and not is_random:
                found["ceiling"] = table["ceiling"].to_numpy()
    return found


def _steps(limits, explained):
    """Return gain and room of a text; the first random order is explained where nothing is."""
    size = limits["size"].to_numpy()
    random = {
        "size": size,
        "probability": np.array(limits["random"].tolist()).T,
        "log_odds": np.array(limits["random_log_odds"].tolist()).T,
    }
    reference = {
        "size": size,
        "probability": limits["reference"].to_numpy(),
        "log_odds": limits["reference_log_odds"].to_numpy(),
    }
    if explained is None:
        own = {name: values if name == "size" else values[0] for name, values in random.items()}
        others = {name: values if name == "size" else values[1:] for name, values in random.items()}
        return recomputed.gain_and_room(own, others, reference)
    own = {
        "size": explained["sizes"],
        "probability": explained["falls"],
        "log_odds": explained["falls_log_odds"],
    }
    return recomputed.gain_and_room(own, random, reference)


def store(studies, path):
    """Write the scores of studies, without ids and texts, in steps of :func:`_per_unit`."""
    tables = []
    for dataset, study in studies.items():
        columns = {
            "group": np.where(study.is_first, "male", "female"),
            "set": study.sets,
            "n_units": study.n_units.astype(int),
            "n_words": study.n_words.astype(int),
        }
        for seed in SEEDS:
            for name, rows in study.values.items():
                steps = np.round(rows[seed] * _per_unit(name))
                columns[name] = np.where(np.isnan(steps), NONE, steps).astype(np.int16)
            tables.append(pd.DataFrame({"dataset": dataset, "seed": seed, **columns}))
    table = pd.concat(tables, ignore_index=True)
    numbers = [name for name in table.columns if name not in ("dataset", *FACTS)]
    table.to_parquet(
        path,
        index=False,
        compression="zstd",
        compression_level=19,
        use_dictionary=["dataset", "group"],
        column_encoding=dict.fromkeys(numbers, "BYTE_STREAM_SPLIT"),
    )


def _per_unit(name):
    """Return how many steps of a stored number are in a unit."""
    return 32 if "log_odds" in name or name == "counting" else 256


def stored(path=SCORES):
    """Return the stored studies by dataset."""
    studies = {}
    for dataset, table in pd.read_parquet(path).groupby("dataset"):
        by_name = {}
        for name in table.columns:
            if name not in ("dataset", *FACTS):
                steps = table[name].to_numpy(float).reshape(len(SEEDS), -1)
                by_name[name] = np.where(steps == NONE, np.nan, steps / _per_unit(name))
        texts = table[table["seed"] == 0]
        studies[dataset] = Study(
            is_first=(texts["group"] == "male").to_numpy(),
            sets=texts["set"].to_numpy(),
            n_units=texts["n_units"].to_numpy(float),
            n_words=texts["n_words"].to_numpy(float),
            values=by_name,
        )
    return studies


def differences(rows, expected):
    """Yield a line for each number or word of recomputed rows that is not the expected one.

    ``expected`` are rows of the product, dicts by the columns of verdicts.
    """
    by_key = {tuple(row[key] for key in KEYS): row for row in expected}
    if len(by_key) != len(rows):
        yield f"{len(rows)} rows, but {len(by_key)} verdicts"
    for row in rows:
        key = tuple(row[key] for key in KEYS)
        other = by_key[key]
        for name, value in row.items():
            if name == "flags":
                if set(value) != set(other["flags"]):
                    yield f"{key}: flags {sorted(value)}, not {sorted(other['flags'])}"
            elif isinstance(value, str) or name in COMPARED:
                if value != other[name]:
                    yield f"{key}: {name} {value}, not {other[name]}"
            elif name not in ("variances", "signs", "stands"):
                size = max(1.0, abs(float(other[name])))
                if not abs(float(value) - float(other[name])) <= TOLERANCE.get(name, 1e-9) * size:
                    yield f"{key}: {name} {value!r}, not {other[name]!r}"


def main():
    results = Path(sys.argv[1])
    studies = {dataset: read_study(results, dataset) for dataset in DATASETS}
    rows = recomputed.verdicts_of(studies)
    expected = pd.read_parquet(results / "verdicts.parquet")
    expected[KEYS] = expected[KEYS].astype(str)
    found = [*differences(rows, expected.to_dict("records"))]
    print("\n".join(found) or f"{len(rows)} verdicts: no number and no word differs")
    if found:
        return 1
    store(studies, SCORES)
    words = pd.DataFrame(rows)[[*KEYS, "verdict", "verdict_strict", "verdict_right"]]
    words.to_csv(WORDS, index=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
