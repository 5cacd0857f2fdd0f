"""Figures 3 and 12 of Chen et al. (2024) on biographies of your own, beside the published gaps.

The table has the columns of LabHC/bias_in_bios with names: hard_text, profession, gender. Two of
five biographies of each occupation and gender are tested on, and the others trained on:

    python benchmarks/bow_probe.py data/biasbios_sample/bios.csv
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from exparity.analyses.term_weight_probe import term_weight_probe
from exparity.artefacts.layout import grid_text, path_of
from exparity.data.bias_in_bios import FILES, LABELS
from exparity.published.gaps import compare_gaps
from exparity.published.output import comparison_summary
from exparity.stages.counterfactuals import make_counterfactuals
from exparity.stages.prepare import prepare

WEIGHTS = (-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0)
PARTS = {"train": (1, 3), "dev": (4,), "test": (0, 2)}


def write_files(table: Path, folder: Path) -> None:
    """Write a table of biographies as the dataset's three files."""
    rows = pd.read_csv(table)
    rows["profession"] = rows["profession"].map(LABELS.index)
    rows["gender"] = (rows["gender"].str.lower() == "female").astype(int)
    places = rows.groupby(["profession", "gender"]).cumcount() % 5
    for part, numbers in PARTS.items():
        path = folder / FILES[part].path
        path.parent.mkdir(parents=True, exist_ok=True)
        rows[places.isin(numbers)].to_parquet(path)


def main() -> None:
    """Print our gaps of single classes beside the published ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", type=Path, help="CSV with hard_text, profession and gender")
    arguments = parser.parse_args()
    with TemporaryDirectory() as name:
        results = Path(name)
        write_files(arguments.table, results / "raw")
        ids = {"dataset": "bias_in_bios"}
        data = results / path_of("data", ids)
        texts = results / path_of("counterfactuals", ids)
        options = {"params": {"verify": False}, "data_dir": results / "raw"}
        prepare(data, use="bias_in_bios", dataset_id="bias_in_bios", **options)
        make_counterfactuals(data, texts, use="gender_pronouns", params={})
        output = results / path_of("term_weight_probe", ids)
        groups = ("all", "male", "female")
        term_weight_probe(data, texts, output, weights=WEIGHTS, terms=groups)
        (results / "grid.json").write_text(grid_text({"datasets": [["bias_in_bios"] * 2]}))
        print(comparison_summary(compare_gaps(results, "chen2024", {})))


if __name__ == "__main__":
    main()
