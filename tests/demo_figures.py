"""Figures of the default experiment that the docs quote, and the gap that was planted in it.

``python tests/demo_figures.py RESULTS`` checks the results of ``make demo`` for what
config/config.yaml planted, and keeps the figures beside this file; ``tests/test_docs.py`` holds the
docs to them. With ``--check`` it keeps nothing: results of another processor differ in digits.
"""

import argparse
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import exparity
from exparity.report.verdicts import verdict_of

KEPT = Path(__file__).with_suffix(".json")
CELL = "dataset == 'bios_planted' and method == 'lime' and metric == 'comprehensiveness'"
"""The tests that the quickstart prints."""


def figures(results: Path) -> dict[str, Any]:
    """Return what the docs quote of the results of the default experiment."""
    tests = exparity.read_results(results, "disparity").sort_values("seed")
    judged = exparity.read_results(results, "verdicts")
    shown = subprocess.run(
        ["exparity", "show", "--cells", results], capture_output=True, text=True, check=True
    ).stdout
    page = (results / "report" / "index.html").read_text(encoding="utf-8")
    share, n, random = re.search(
        r"groups differ in <strong>(.*?)\s%</strong> of\s+([\d,]+) .*?in <strong>(.*?)\s%</strong>",
        page,
        re.DOTALL,
    ).groups()
    quoted = ["quantity", "dataset", "method", "metric", "verdict", "d", "detectable"]
    judged = judged.rename(columns={"minimal_detectable_effect_corrected": "detectable"})
    return {
        "judged": judged[quoted].round(2).to_dict("records"),
        "shown": shown.rstrip().splitlines(),
        "rates": {"n": float(n), "share": float(share) / 100, "random": float(random) / 100},
        "cell": tests.query(CELL)
        .pivot(index="seed", columns="quantity", values="cohens_d")
        .round(3)
        .to_string()
        .splitlines(),
    }


def check_planted(kept: dict[str, Any]) -> None:
    """Raise AssertionError where the figures do not show what config/config.yaml planted.

    In ``bios_planted`` texts of women leave open which of two occupations is meant, and four in
    five have the same one, so that the classifier is surer of men. By comprehensiveness scores of
    men are higher with every method, and random explanations have a gap as well; no skill of women
    is higher. Every method foresees the classifier better for men. In ``bios`` both versions of a
    text differ in gender alone, so that every method foresees it equally well; by other metrics
    most cells are equivalent and none is a gap. Random explanations have no gap beyond other random
    ones.
    """
    verdicts = {
        (row["quantity"], row["dataset"], row["method"], row["metric"]): row
        for row in kept["judged"]
    }
    found = {key: verdict_of(row["verdict"]) for key, row in verdicts.items()}
    planted = {
        quantity: [
            row
            for key, row in verdicts.items()
            if (key[0], key[1], key[3]) == (quantity, "bios_planted", "comprehensiveness")
        ]
        for quantity in ("score", "random_score", "skill")
    }
    for row in planted["score"]:
        assert row["verdict"] == "different", row
        assert row["d"] > 0.5, row
    for row in planted["random_score"]:
        assert verdict_of(row["verdict"]).is_gap, row
        assert row["d"] > 0.25, row
    assert not any(verdict_of(row["verdict"]).is_gap and row["d"] < 0 for row in planted["skill"])
    foreseen = [
        row
        for row in verdicts.values()
        if row["metric"] == "forward_simulation" and row["quantity"] == "score"
    ]
    in_planted = [row for row in foreseen if row["dataset"] == "bios_planted"]
    assert all(row["verdict"] == "equivalent" for row in foreseen if row not in in_planted)
    assert all(row["verdict"] == "different" for row in in_planted)
    assert all(row["d"] > 0.25 for row in in_planted)
    plain = [one for key, one in found.items() if key[1] == "bios" and "random" not in key[0]]
    assert not any(one.is_gap for one in plain)
    assert 2 * sum(one.id == "equivalent" for one in plain) > len(plain)
    beyond = [
        key
        for key in found
        if key[0] in ("random_excess", "random_skill")
        or (key[0], key[3]) == ("random_score", "forward_simulation")
    ]
    assert not any(found[key].is_gap for key in beyond)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("--check", action="store_true", help="keep nothing")
    arguments = parser.parse_args()
    kept = figures(arguments.results)
    check_planted(kept)
    if not arguments.check:
        KEPT.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
