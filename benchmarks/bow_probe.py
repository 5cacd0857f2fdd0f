"""Figures 3, 5, 10, 11 and 12 of Chen et al. (2024) on biographies of your own.

Gaps at every weight of a bag of words (Figures 3, 12) are printed beside the published ones.
Figures 5 and 10 draw the causal gap of each occupation against its statistical one, and Figure 11
draws gaps against the share of women. Of these the rank correlations are printed.

The table has the columns of LabHC/bias_in_bios with names: hard_text, profession, gender. Two of
five biographies of each occupation and gender are tested on, and the others trained on:

    python benchmarks/bow_probe.py data/biasbios_sample/bios.csv
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import pyarrow.parquet as pq
from scipy.stats import spearmanr
from shared import markdown

from exparity.analyses.term_weight_probe import term_weight_probe
from exparity.artefacts.grid import Grid, grid_text
from exparity.artefacts.layout import path_of
from exparity.data.bias_in_bios import FILES, LABELS
from exparity.published.gaps import compare_gaps
from exparity.published.output import comparison_summary
from exparity.resources import shipped
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


def published_gaps() -> dict[str, pd.DataFrame]:
    """Return the study's gaps of each occupation (columns) by figure and classifier."""
    figures = pd.read_csv(shipped("published/chen2024_fig5_fig10_albert_by_occupation.csv"))
    figures = figures[figures["method"] == "normal"]
    words = pd.read_csv(shipped("published/chen2024_fig3_fig12_bow_probe.csv"))
    words = words[(words["figure"] == "3") & (words["weight"] == 1)]
    tables = {"ALBERT-Large, published (Figures 5, 10a)": figures}
    tables["bag of words, published (Figure 3)"] = words
    return {
        name: table.pivot_table("value", "occupation", "metric") for name, table in tables.items()
    }


def own_gaps(output: Path) -> pd.DataFrame:
    """Return the probe's gaps of each occupation with unscaled words, female − male."""
    rows = pq.read_table(output).to_pandas()
    rows = rows[(rows["terms"] == "all") & (rows["weight"] == 1) & (rows["class_name"] != "")]
    kinds = {
        f"{causal}{rate}_gap": f"{short}_{rate}"
        for causal, short in (("", "sg"), ("causal_", "cg"))
        for rate in ("tpr", "fpr")
    }
    rows = rows[rows["quantity"].isin(kinds)]
    sign = rows["group"].map({"female": 1, "male": -1})
    rows = rows.assign(metric=rows["quantity"].map(kinds), value=rows["value"] * sign)
    return rows.pivot_table("value", "class_name", "metric")


def correlations(name: str, gaps: pd.DataFrame, share: pd.Series) -> dict[str, object]:
    """Return Spearman's correlations of the gaps of occupations."""

    def rho(left: str, right: pd.Series | None) -> str:
        if left not in gaps or right is None:
            return "–"
        pair = pd.concat([gaps[left], right], axis=1).dropna()
        result = spearmanr(pair.iloc[:, 0], pair.iloc[:, 1])
        return f"{result.statistic:+.2f} ({len(pair)})"

    return {
        "Classifier": name,
        "CG TPR, SG TPR": rho("cg_tpr", gaps.get("sg_tpr")),
        "CG FPR, SG FPR": rho("cg_fpr", gaps.get("sg_fpr")),
        "SG TPR, share of women": rho("sg_tpr", share),
        "CG TPR, share of women": rho("cg_tpr", share),
    }


def share_of_women(table: Path) -> pd.Series:
    """Return the share of women among the biographies of each occupation."""
    rows = pd.read_csv(table)
    return (rows["gender"].str.lower() == "female").groupby(rows["profession"]).mean()


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
        grid = Grid(datasets={"bias_in_bios": "bias_in_bios"})
        (results / "grid.json").write_text(grid_text(grid))
        print(comparison_summary(compare_gaps(results, "chen2024", {})))
        gaps = {**published_gaps(), "bag of words, here": own_gaps(output)}
    share = share_of_women(arguments.table)
    print("Spearman's rank correlation over occupations (their number)")
    print(markdown([correlations(name, table, share) for name, table in gaps.items()]))


if __name__ == "__main__":
    main()
