"""The report of a small made-up study: every number in it is one of the artefacts'."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import math
import re
import shutil
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pyarrow.parquet as pq
import pytest

from exparity import read_results
from exparity.artefacts.files import write_artefact
from exparity.artefacts.grid import grid_text
from exparity.config.experiment import Experiment
from exparity.core.errors import InputError
from exparity.report import figures, gather
from exparity.report.figures import style
from exparity.report.flags import meaning_of
from exparity.report.sections.disparity import View, cell_data, shown_cell
from exparity.report.tables import disparity_tables
from exparity.report.templating import latex_escape
from exparity.stages.judge import judge_cells
from exparity.stages.report import report
from exparity.stats.crossed import CrossedTest
from exparity.stats.model_bias import model_bias
from exparity.tools.show import show

SEEDS = (0, 1, 2)
DATASETS = ("first", "second")
MODELS = ("bert", "gpt")
METHODS = ("gradient", "ig_few", "ig_many")
METRICS = ("comprehensiveness", "gini", "sufficiency")
CONFIG = {
    "title": "A <script>alert('x')</script> & b_1",
    "datasets": {name: {"use": "pairs_all"} for name in DATASETS},
    "models": {name: {"init": "scratch", "architecture": "bert"} for name in MODELS},
    "methods": {
        "gradient": {},
        "ig_few": {"use": "integrated_gradients", "n_steps": 5},
        "ig_many": {"use": "integrated_gradients"},
    },
    "metrics": {name: {} for name in METRICS},
    "seeds": list(SEEDS),
    "statistics": {"threshold": 0.3, "alpha": 0.04},
    "report": {"figures": False},
    "controls": {"random": {"draws": 0}},
}

# What the seeds of one cell found: (significant, d) of each. By hand: the count, the mean d over
# the significant seeds (over all if none is), bold from 0.3 on, and the group that scores higher.
CASES = {
    "all, first higher": ([(True, 0.5), (True, 0.3), (True, 0.7)], 3, 0.5, True, "a"),
    "two, second higher": ([(True, -0.4), (False, 0.9), (True, -0.6)], 2, -0.5, True, "b"),
    "one, weak": ([(False, 2.0), (True, 0.2), (False, -2.0)], 1, 0.2, False, "a"),
    "exactly the threshold": ([(True, 0.25), (True, 0.375), (True, 0.275)], 3, 0.3, True, "a"),
    "none": ([(False, 0.5), (False, 0.9), (False, -0.2)], 0, 0.4, False, "a"),
    "cancel out": ([(True, 0.5), (True, -0.5), (False, 3.0)], 2, 0.0, False, ""),
    "undefined": ([(False, math.nan)] * 3, 0, None, False, ""),
    "partly undefined": ([(False, math.nan), (False, -0.25), (False, math.nan)], 0, -0.25, False,
                         "b"),
    "no variance": ([(True, -math.inf), (True, -math.inf), (True, -0.5)], 3, -math.inf, True, "b"),
}  # fmt: skip
CELLS = [(d, m, x, y) for d in DATASETS for m in MODELS for x in METHODS for y in METRICS]
CASE_OF = {cell: list(CASES)[i % len(CASES)] for i, cell in enumerate(CELLS)}


COLLAPSED = ("second", "gpt", 2)


def counted_effects(dataset, model, outcomes):
    """Effects of the seeds that count: of classifiers that have not collapsed, where defined."""
    return [
        d
        for seed, (_, d) in enumerate(outcomes)
        if not math.isnan(d) and (dataset, model, seed) != COLLAPSED
    ]


def across_rows(dataset, model):
    """What all trainings say of each cell: of comprehensiveness that it differs, else nothing."""
    tested = {
        "n_seeds": 3, "n_sets": 10, "n_a": 10, "n_b": 11, "seeds_above": 3, "estimate": 0.5,
        "p_mean": 1e-6, "p_small": 0.9, "p_large": 1e-6, "p_cross": 1.0, "p_large_others": 1.0,
        "pooled_sd": 1.0, "d": 0.5, "rms_gap": 0.5, "rms_low": 0.4, "rms_high": 0.6,
        "v_seeds": 1e-4, "v_texts": 1e-4, "v_cells": 1e-5, "dof_texts": 9.0,
    }  # fmt: skip
    nothing = vars(CrossedTest("male", "female", n_seeds=3))
    return [
        {"method": method, "metric": metric, "quantity": "score", **nothing,
         "flags": ["constant"] * (CASE_OF[dataset, model, method, metric] == "undefined"),
         **(tested if metric == "comprehensiveness" else {})}
        for method in METHODS
        for metric in METRICS
    ]  # fmt: skip


def test_row(significant, d, number, seed):
    """Of 20 permutations of each test, as many are significant as the seed says."""
    flags = ["constant", "undefined_values"] if math.isnan(d) else []
    flags = ["no_variance"] if math.isinf(d) else flags
    return {
        "group_a": "male", "group_b": "female", "n_a": 10 + number, "n_b": 11,
        "mean_a": number / 7, "mean_b": 0.5, "sd_a": 0.1, "sd_b": 0.2,
        "mean_difference": d, "U": 50.5, "p": 0.01 if significant else 0.5,
        "significant": significant, "cohens_d": d, "d_ci_low": d - 0.1, "d_ci_high": d + 0.1,
        "considerable": abs(d) >= 0.3, "rank_biserial": 0.25,
        "direction": 0 if math.isnan(d) else (d > 0) - (d < 0), "n_pairs": 10, "wilcoxon_p": 0.5,
        "d_z": 0.5, "n_undefined": 0, "n_examples": 21, "flags": flags, "n_groups": 2,
        "omnibus": "", "omnibus_statistic": math.nan, "omnibus_p": math.nan,
        "epsilon_squared": math.nan, "n_sets": 10, "friedman_statistic": math.nan,
        "friedman_p": math.nan, "n_permutations": 20, "permuted_rate": seed / 20,
        "permuted_wilcoxon_rate": math.nan, "quantity": "score",
    }  # fmt: skip


test_row.__test__ = False


def predictions(dataset, model, seed):
    """Ten examples; the first group loses one per seed; gpt on second, seed 2, says 1 always."""
    collapsed = (dataset, model, seed) == COLLAPSED
    rows = []
    for i in range(10):
        group = "male" if i < 5 else "female"
        label = i % 2
        predicted = 1 if collapsed else 1 - label if i < seed else label
        rows.append(
            {
                "example_id": str(i),
                "group": group,
                "match_id": None,
                "label": label,
                "probabilities": [0.5, 0.5],
                "predicted": predicted,
            }
        )
    return rows


def bias_rows(rows):
    """What the stage bias makes of predictions."""
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    found = model_bias(
        columns["label"], columns["predicted"], columns["probabilities"], columns["group"],
        ("male", "female"), ("female", "male"), columns["match_id"], resamples=0,
    )  # fmt: skip
    return [vars(row) for row in found]


def accuracy(rows, group=None):
    chosen = [r for r in rows if group in (None, r["group"])]
    return sum(r["label"] == r["predicted"] for r in chosen) / len(chosen)


DECLARED = {"attribute": "sex", "groups": ["male", "female"], "labels": ["female", "male"]}


def as_it_is(dataset, name):
    return name


def write(path, artefact, rows, call=str, **ids):
    groups = [call(group) for group in DECLARED["groups"]]
    rows = [
        {k: call(v) if v and k in ("group", "group_a", "group_b") else v for k, v in row.items()}
        for row in rows
    ]
    facts = {**DECLARED, "groups": groups}
    write_artefact(path, artefact, rows, ids, stage="x", parameters={}, extra=facts)


def make_study(folder, rename=as_it_is, *, models=MODELS, seeds=SEEDS):
    """Write a study; ``rename`` says what a dataset, and its models and groups, are called."""
    number = 0
    for dataset, model in ((d, m) for d in DATASETS for m in models):
        call = partial(rename, dataset)
        for seed in seeds:
            ids = {"dataset": call(dataset), "model": call(model), "seed": seed}
            cell = Path(ids["dataset"]) / ids["model"] / str(seed)
            rows = bias_rows(predictions(dataset, model, seed))
            write((folder / "bias" / cell).with_suffix(".parquet"), "bias", rows, call, **ids)
            path = (folder / "adjusted_gaps" / cell).with_suffix(".parquet")
            write(path, "adjusted_gaps", [], call, **ids)
            path = folder / "across_trainings" / ids["dataset"] / f"{ids['model']}.parquet"
            ids_of_model = {name: ids[name] for name in ("dataset", "model")}
            rows = across_rows(dataset, model)
            write(path, "across_trainings", rows, call, **ids_of_model)
            for method in METHODS:
                for metric in METRICS:
                    outcome = CASES[CASE_OF[dataset, model, method, metric]][0][seed]
                    path = folder / "tests" / cell / method / f"{metric}.parquet"
                    row = test_row(*outcome, number, seed)
                    write(path, "tests", [row], call, **ids, method=method, metric=metric)
                    number += 1
    across = sorted((folder / "across_trainings").rglob("*.parquet"))
    judge_cells(across, None, folder / "verdicts.parquet")


@pytest.fixture(scope="module")
def options():
    found = Experiment.from_mapping(CONFIG)
    return json.loads(found.report_options())


@pytest.fixture(scope="module")
def study(tmp_path_factory, options):
    folder = tmp_path_factory.mktemp("study") / "results"
    make_study(folder)
    report(folder, folder / "report" / "index.html", options)
    return folder


class Page(HTMLParser):
    """Tables of a page as rows of (text, attributes); spans of rows are filled in."""

    def __init__(self, text):
        super().__init__()
        self.tables, self.tags, self.texts, self.cell = [], [], [], None
        self.in_caption = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "table":
            self.tables.append({"caption": "", "rows": []})
        elif tag == "caption":
            self.in_caption = True
        elif tag == "tr":
            self.tables[-1]["rows"].append([])
        elif tag in ("td", "th"):
            self.cell = [[], dict(attrs)]
            self.tables[-1]["rows"][-1].append(self.cell)

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.cell = None
        self.in_caption &= tag != "caption"

    def handle_data(self, data):
        self.texts.append(data)
        if self.in_caption:
            self.tables[-1]["caption"] += data
        if self.cell is not None:
            self.cell[0].append(data.strip())

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())

    def table(self, caption):
        """Rows of the table with a caption."""
        return self.body(self.index(caption))

    def headlines(self):
        """Cells of the table of rates by what is compared and the test."""
        rows = [[text for text, _ in row] for row in self.table("How often groups differ")]
        return {(row[0], row[1]): row[2:] for row in rows}

    def index(self, caption):
        captions = [" ".join(table["caption"].split()) for table in self.tables]
        return next(i for i, text in enumerate(captions) if caption in text)

    def body(self, index):
        """Rows of a table below its heading, every one of full width."""
        rows, above = [], None
        for row in self.tables[index]["rows"][1:]:
            cells = [(" ".join(filter(None, text)), attrs) for text, attrs in row]
            if "rowspan" in cells[0][1]:
                above, left = cells[0], int(cells[0][1]["rowspan"])
            elif above is not None and left > 1:
                cells, left = [above, *cells], left - 1
            rows.append(cells)
        return rows


@pytest.fixture(scope="module")
def page(study):
    return Page((study / "report" / "index.html").read_text(encoding="utf-8"))


class TestDisparity:
    def test_holds_every_test_row_and_what_is_added(self, study):
        found = read_results(study, "disparity")
        tests = read_results(study, "tests")
        key = ["dataset", "model", "seed", "method", "metric"]
        assert len(found) == len(CELLS) * len(SEEDS)
        merged = found.sort_values(key).reset_index(drop=True)
        source = tests.sort_values(key).reset_index(drop=True)
        for name in source.columns:
            if name == "flags":
                collapsed = [cell == COLLAPSED for cell in merged[key[:3]].itertuples(index=False)]
                assert [list(x) for x in merged[name]] == [
                    [*x, *["collapsed"] * y] for x, y in zip(source[name], collapsed, strict=True)
                ]
            else:
                assert merged[name].equals(source[name]), name

    def test_is_sorted_by_key(self, study):
        found = read_results(study, "disparity")
        keys = list(found[["dataset", "model", "seed", "method", "metric"]].itertuples(index=False))
        assert keys == sorted(keys)

    def test_the_better_group_respects_the_direction_of_the_metric(self, study):
        found = read_results(study, "disparity")
        assert len(found)
        for row in found.to_dict("records"):
            lower = row["metric"] == "sufficiency"
            assert row["metric_direction"] == ("lower" if lower else "higher")
            if not row["cohens_d"] < 0 and not row["cohens_d"] > 0:
                assert not isinstance(row["better_group"], str)
            else:
                higher = "male" if row["cohens_d"] > 0 else "female"
                other = "female" if higher == "male" else "male"
                assert row["better_group"] == (other if lower else higher)

    def test_carries_the_accuracy_of_its_model(self, study):
        for row in read_results(study, "disparity").to_dict("records"):
            expected = accuracy(predictions(row["dataset"], row["model"], row["seed"]))
            assert row["test_accuracy"] == expected


class TestPage:
    def test_heads_of_the_tables(self, page):
        # ig_few and ig_many are one implementation: they go by their own ids
        heads = [" ".join(cell[0]) for cell in page.tables[page.index("first, sex")]["rows"][0]]
        assert heads == ["Model", "Method", "Comprehensiveness ↑", "Gini index ↑", "Sufficiency ↓"]
        names = [row[1][0] for row in page.table("first, sex")]
        assert names == ["Gradient", "ig_few", "ig_many"] * 2
        assert [row[0][0] for row in page.table("first, sex")] == ["bert"] * 3 + ["gpt"] * 3

    def test_every_cell_shows_effect_verdict_and_colour(self, page):
        seen = 0
        for dataset in DATASETS:
            for (model, method), row in zip(
                ((m, x) for m in MODELS for x in METHODS),
                page.table(f"{dataset}, sex"),
                strict=True,
            ):
                for metric, (text, attrs) in zip(METRICS, row[2:], strict=True):
                    name = CASE_OF[dataset, model, method, metric]
                    flagged = (dataset, model) == COLLAPSED[:2]
                    flagged |= name in ("undefined", "partly undefined", "no variance")
                    star = "* " if flagged else ""
                    if name == "undefined":  # no training says anything
                        expected, style = f"– {star}not tested", "n s0"
                    elif metric == "comprehensiveness":
                        expected, style = f"+0.50 {star}different", "n s4 a strong"
                    else:
                        expected, style = f"– {star}undecided", "n s0"
                    effects = counted_effects(dataset, model, CASES[name][0])
                    expected += " ±" * (min(effects, default=0) < 0 < max(effects, default=0))
                    assert (text, attrs["class"]) == (expected, style), name
                    seen += 1
        assert seen == len(CELLS)

    def test_as_published_it_shows_counts(self, study, options):
        """What the page's switches show of scores by Mann–Whitney, uncorrected."""
        known = gather.gather(study, options)
        embedded = cell_data(known, disparity_tables(known))
        data, view = embedded["cells"], embedded["views"]["score.mann_whitney.raw"]
        cells = zip(data["model"], data["method"], data["metric"], strict=True)
        for i, key in enumerate(cells):
            dataset = DATASETS[data["table"][i]]
            outcomes, count, *_ = CASES[CASE_OF[dataset, *key]]
            assert view["looks"][view["of"][i]]["text"] == str(count)
            effects = counted_effects(dataset, key[0], outcomes)
            mean = sum(effects) / len(effects) if effects else math.nan
            assert data["score.mean_d"][i] == pytest.approx(mean, nan_ok=True)
            both = min(effects, default=0) < 0 < max(effects, default=0)
            assert data["score.both_signs"][i] == both

    def test_without_scripts_too_the_colour_says_who_is_better_off(self, study, options):
        known = gather.gather(study, options)
        view, seen = View("score", "mann_whitney", "raw"), set()
        for table in disparity_tables(known):
            for key, rows in table.tests.items():
                metric = key[2]
                counted = [r["cohens_d"] for r in rows if "collapsed" not in r["flags"]]
                effects = [d for d in counted if not math.isnan(d)]
                hits = sum(r["p"] <= 0.05 for r in rows)
                better = sum(effects) * (-1 if metric == "sufficiency" else 1)
                side = {"a"} if better > 0 else {"b"} if better < 0 else set()
                style = shown_cell(table, key, view, known.statistics).style.split()
                assert {"a", "b"} & set(style) == (side if hits else set())
                seen |= {(metric, *side)} if hits else set()
        assert {("sufficiency", "a"), ("sufficiency", "b"), ("gini", "b")} <= seen

    def test_flags_are_shown_on_the_cell_and_counted_above(self, page):
        titles = {
            c[1].get("title") for d in DATASETS for row in page.table(f"{d}, sex") for c in row[2:]
        }
        assert {None, "constant, undefined_values", "no_variance", "collapsed"} <= titles
        # four cells of each case: 3 + 2 undefined seeds, 2 without variance
        for flag, count in (
            ("constant", 20),
            ("no_variance", 8),
            ("undefined_values", 20),
            ("collapsed", 9),
        ):
            assert (
                f"{flag} , {count} tests (marked * in the table): {meaning_of(flag)}" in page.text
            )

    def test_totals(self, page, study):
        counted = [
            outcome
            for cell in CELLS
            for seed, outcome in zip(SEEDS, CASES[CASE_OF[cell]][0], strict=True)
            if (*cell[:2], seed) != COLLAPSED and not math.isnan(outcome[1])  # constant
        ]
        significant = [d for yes, d in counted if yes]
        considerable = [d for d in significant if abs(d) >= 0.3]
        assert (len(counted), len(significant), len(considerable)) == (81, 52, 41)
        rows = page.headlines()
        assert rows["Scores", "Mann–Whitney U"][:2] == ["81", "64.2 %"]
        # p = 0.5 everywhere
        assert rows["Scores", "signed rank on matched sets"][:4] == ["81", *["0.0 %"] * 3]
        assert "groups differ in 0.0 % of 81 comparisons of scores (signed rank" in page.text
        rates = pq.read_table(study / "report" / "tables" / "rates.parquet").to_pylist()
        counts = {rate["test"]: (rate["significant"], rate["n"]) for rate in rates}
        assert (counts["plain"], counts["considerable"]) == ((52, 81), (41, 81))
        assert "Tests 108" in page.text
        assert "Models × seeds 4 × 3" in page.text

    def test_accuracies(self, page):
        rows = [[text for text, _ in row] for row in page.table("Accuracy on the test split")]
        expected = []
        for dataset, model in ((d, m) for d in DATASETS for m in MODELS):
            for seed in SEEDS:
                found = predictions(dataset, model, seed)
                overall, female, male = (accuracy(found, g) for g in (None, "female", "male"))
                expected.append(
                    [dataset, model, str(seed), "10", f"{overall:.3f}",
                     f"male {male:.3f}, female {female:.3f}"]
                )  # fmt: skip
        assert rows == expected

    def test_corrected_counts(self, page, study):
        found = read_results(study, "disparity")
        # 56 of 108 tests have p = 0.01: far more than corrections by dataset ask for, or not
        for dataset in DATASETS:
            rows = found[found["dataset"] == dataset]
            counts = np.array([not {"collapsed", "constant"} & set(f) for f in rows["flags"]])
            assert rows[["p_holm", "p_bh"]][~counts].isna().all(axis=None)
            assert not rows["significant_bh"][~counts].any()
            rows = rows[counts]
            m, k = len(rows), int((rows["p"] == 0.01).sum())
            assert (rows["significant_bh"] == ((rows["p"] == 0.01) & (m * 0.01 / k <= 0.04))).all()
            assert (rows["p_holm"] == (rows["p"] * m).clip(upper=1)).all()
            assert (rows["wilcoxon_p_holm"] == 1).all()
            assert (rows["wilcoxon_p_bh"] == 0.5).all()
            assert not rows["significant_holm"].any()
        holm, bh = page.headlines()["Scores", "Mann–Whitney U"][2:4]
        assert holm == "0.0 %"
        assert bh == f"{100 * found['significant_bh'].sum() / 81:.1f} %"

    def test_permuted_groups_stand_beside_the_real_rate(self, page, study):
        rows, tests = page.headlines(), read_results(study, "disparity")
        counted = [not {"collapsed", "constant"} & set(flags) for flags in tests["flags"]]
        rate = tests["permuted_rate"][counted].mean()
        assert rows["Scores", "Mann–Whitney U"][4:] == ["–", f"{100 * rate:.1f} %"]
        # no permutation of it was made
        assert rows["Scores", "signed rank on matched sets"][4:] == ["–", "–"]

    def test_a_collapsed_model_is_named(self, page):
        assert page.text.count("one class is predicted for every test example by") == 1
        assert "On second, one class is predicted for every test example by gpt (seed 2);" in (
            page.text
        )

    def test_methods_and_metrics_are_explained(self, page, study):
        source = (study / "report" / "index.html").read_text(encoding="utf-8")
        for id in ("comprehensiveness", "gini", "sufficiency", "gradient", "ig_few", "ig_many"):
            assert f"<code>{id}</code>" in source
        assert "Better lower" in page.text
        assert "Range 0 to 1 (index)" in page.text
        assert "Hurley and Rickard 2009, doi:10.1109/TIT.2009.2027527" in page.text
        assert 'href="https://doi.org/10.1109/TIT.2009.2027527"' in source

    def test_other_sections_are_there(self, page):
        assert len(page.table("Mean over 3 seeds, ± standard deviation below")) > 10
        assert "Beside published numbers" not in page.text  # of these datasets nothing is

    def test_groups_and_order_are_said(self, page, study):
        assert page.text.count("sex: male − female.") == 2
        source = (study / "report" / "index.html").read_text(encoding="utf-8")
        for group in ("male", "female"):  # in the key of each table
            assert source.count(f"</span>better for {group}</li>") == 2

    def test_scripts_and_styles_are_those_of_the_policy_and_inside(self, page, study):
        source = (study / "report" / "index.html").read_text(encoding="utf-8")
        policy = next(a["content"] for t, a in page.tags if a.get("http-equiv"))
        assert policy.startswith("default-src 'none'; ")
        assert "unsafe" not in policy
        for tag in ("script", "style"):
            found = re.findall(rf"<{tag}>(.*?)</{tag}>", source, re.DOTALL)
            assert found
            for text in found:
                digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
                assert f"'sha256-{digest}'" in policy
        assert not {t for t, _ in page.tags} & {"img", "link", "iframe", "object", "embed", "base"}
        for tag, attrs in page.tags:
            assert not {"src", "style"} & set(attrs)
            assert not any(name.startswith("on") for name in attrs)
            assert tag != "script" or set(attrs) <= {"type", "id"}

    def test_the_title_is_escaped_text(self, page, study):
        assert CONFIG["title"] in page.text
        source = (study / "report" / "index.html").read_text(encoding="utf-8")
        assert "<script>alert" not in source
        assert "&lt;script&gt;alert" in source

    def test_links_lead_to_files_and_anchors(self, page, study):
        ids = {attrs["id"] for _, attrs in page.tags if "id" in attrs}
        links = [attrs["href"] for tag, attrs in page.tags if tag == "a"]
        assert len(links) > 30
        for link in links:
            if link.startswith("#"):
                assert link[1:] in ids
            elif not link.startswith("https://"):
                assert (study / "report" / link).is_file()

    def test_ids_are_unique(self, page):
        ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
        assert len(ids) == len(set(ids))

    def test_what_has_no_artefacts_is_left_out_and_said(self, page):
        # this study has tests, but neither scores nor explanations
        ids = {attrs["id"] for _, attrs in page.tags if "id" in attrs}
        assert not {"distributions", "explanations"} & ids
        assert "108 scores files are missing" in page.text


class TestTables:
    def rows(self, study, dataset):
        path = study / "report" / "tables" / f"disparity-{dataset}-male-female.csv"
        with path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    @pytest.mark.parametrize("dataset", DATASETS)
    def test_csv(self, study, dataset):
        rows = self.rows(study, dataset)
        cells = [(m, x, y) for m in MODELS for x in METHODS for y in METRICS]
        assert [(r["model"], r["method"], r["metric"]) for r in rows] == cells
        for row in rows:
            name = CASE_OF[dataset, row["model"], row["method"], row["metric"]]
            _, count, mean, bold, colour = CASES[name]
            assert row["dataset"] == dataset
            assert (row["group_a"], row["group_b"]) == ("male", "female")
            assert (int(row["significant_runs"]), int(row["total_runs"])) == (count, 3)
            assert row["considerable"] == str(bold).lower()
            assert row["higher_group"] == {"a": "male", "b": "female", "": ""}[colour]
            if mean is None:
                assert row["mean_cohens_d"] == ""
                collapsed = (dataset, row["model"]) == COLLAPSED[:2]
                assert row["flags"] == "collapsed " * collapsed + "constant undefined_values"
            else:
                assert float(row["mean_cohens_d"]) == pytest.approx(mean, rel=1e-5, abs=1e-12)

    @pytest.mark.parametrize("dataset", DATASETS)
    def test_latex(self, study, dataset):
        path = study / "report" / "tables" / f"disparity-{dataset}-male-female.tex"
        lines = path.read_text(encoding="utf-8").splitlines()
        assert r"\begin{tabular}{llccc}" in lines
        head = next(line for line in lines if line.startswith("Model & Method"))
        assert head == (
            r"Model & Method & Comprehensiveness $\uparrow$ & Gini index $\uparrow$"
            r" & Sufficiency $\downarrow$ \\"
        )
        body = [line for line in lines if line.endswith(r"\\") and line != head]
        assert len(body) == len(MODELS) * len(METHODS)
        starts = [line.split(" & ")[0].strip() for line in body]
        assert starts == ["bert", "", "", "gpt", "", ""]
        for line, (model, method) in zip(
            body, ((m, x) for m in MODELS for x in METHODS), strict=True
        ):
            parts = line.removesuffix(r" \\").split(" & ")
            assert parts[1] == {"gradient": "Gradient"}.get(method, method.replace("_", r"\_"))
            for text, metric in zip(parts[2:], METRICS, strict=True):
                name = CASE_OF[dataset, model, method, metric]
                _, count, _, bold, colour = CASES[name]
                flagged = (dataset, model) == COLLAPSED[:2]
                flagged |= name in ("undefined", "partly undefined", "no variance")
                star = "$^{*}$" if flagged else ""
                assert re.sub(r"\\cellcolor\{[^}]*\}", "", text) == (
                    rf"\textbf{{{count}}}{star}" if bold else f"{count}{star}"
                )
                shade = rf"\cellcolor{{{'blue' if colour == 'a' else 'red'}!"
                assert (shade in text) == bool(count and colour)
                if count == 3:
                    assert "!40}" in text
        braces = "".join(lines[2:]).replace(r"\{", "").replace(r"\}", "")
        assert braces.count("{") == braces.count("}")
        assert lines.count(r"\midrule") == 2

    def test_one_file_of_each_kind_per_table(self, study):
        names = sorted(p.name for p in (study / "report" / "tables").iterdir())
        tables = [f"bias-{d}" for d in DATASETS]
        tables += [f"disparity-{d}-male-female" for d in DATASETS]
        tables += ["accuracy", "cost", "rates", "rates_by_metric", "verdicts"]
        assert names == sorted(f"{t}.{kind}" for t in tables for kind in ("csv", "tex", "parquet"))

    def test_nothing_unfinished_is_left(self, study):
        assert not [p for p in study.rglob("*") if p.name.startswith(".")]


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a_b", r"a\_b"),
        (r"50% of $5 & #1", r"50\% of \$5 \& \#1"),
        (r"{x}\y", r"\{x\}\textbackslash{}y"),
        ("~^", r"\textasciitilde{}\textasciicircum{}"),
        ("plain", "plain"),
    ],
)
def test_latex_escape(text, escaped):
    assert latex_escape(text) == escaped


def analyses_of(pairs):
    """The cells of the analyses that a study of these datasets and models has."""
    without_control: dict[str, list] = {"negative_control": [], "random_tests": []}
    made = ("bias", "across_trainings", "adjusted_gaps")
    return {**without_control, **dict.fromkeys(made, pairs), "judge": [[]]}


def test_ids_from_outside_are_escaped_everywhere(tmp_path, options):
    def rename(dataset, name):
        return f"<b>{name}&_%" if name in MODELS else name

    make_study(tmp_path, rename)
    pairs = [[dataset, rename(dataset, model)] for dataset, model in options["pairs"]]
    renamed = {**options, "pairs": pairs, "analyses": analyses_of(pairs)}
    report(tmp_path, tmp_path / "report" / "index.html", renamed)
    source = (tmp_path / "report" / "index.html").read_text()
    assert "<b>" not in source
    assert "&lt;b&gt;bert&amp;_%" in source
    assert Page(source).table("first, sex")[0][0][0] == "<b>bert&_%"
    latex = (tmp_path / "report" / "tables" / "disparity-first-male-female.tex").read_text()
    assert "\n<b>bert\\&\\_\\%" in latex


def test_tables_whose_ids_and_groups_run_together_have_files_of_their_own(tmp_path, options):
    names = {
        "first": {"first": "a_b", "male": "c", "female": "d"},
        "second": {"second": "a", "male": "b_c", "female": "d"},
    }
    one = {"models": MODELS[:1], "seeds": [0]}
    make_study(tmp_path, lambda dataset, name: names[dataset].get(name, name), **one)
    called = {dataset: names[dataset][dataset] for dataset in DATASETS}
    pairs = [[called[d], MODELS[0]] for d in DATASETS]
    report(
        tmp_path,
        tmp_path / "report" / "index.html",
        {
            **options,
            "pairs": pairs,
            "analyses": analyses_of(pairs),
            "datasets": [[called[d], use] for d, use in options["datasets"]],
            "seeds": [0],
            "methods": options["methods"][:1],
        },
    )
    paths = list((tmp_path / "report" / "tables").glob("disparity*.parquet"))
    first_cells = [pq.read_table(path).to_pylist()[0] for path in paths]
    tables = sorted((cell["dataset"], cell["group_a"]) for cell in first_cells)
    assert tables == [("a", "b_c"), ("a_b", "c")]


def test_two_of_one_name_are_known_by_their_ids(monkeypatch):
    names = {"lime": "LIME", "mine": "LIME", "shap": "SHAP", "x": "shap", "y": "y"}
    registry = SimpleNamespace(get=lambda use: SimpleNamespace(display=names[use]))
    monkeypatch.setitem(gather.REGISTRIES, "method", registry)
    study = SimpleNamespace(methods={id: id for id in names}, datasets={}, metrics={})
    shown_cell = {id: gather.Study.display(study, "method", id) for id in names}
    assert shown_cell == {"lime": "lime", "mine": "mine", "shap": "SHAP", "x": "x", "y": "y"}


# Colour, a window's title, an overwritten line, a change of direction, a line of its own,
# markup of the page and of the terminal, a formula of a spreadsheet.
HOSTILE = "\x1b[31m\x1b]0;x\x07\r\u202eab\x9b\n</script>[bold]%"
ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory, options):
    folder = tmp_path_factory.mktemp("hostile")
    names = {"male": f"=cmd{HOSTILE}", "female": "@x"}
    one = {"models": MODELS[:1], "seeds": [0]}
    make_study(folder, lambda dataset, name: names.get(name, name), **one)
    few = {
        "pairs": options["pairs"][:1],
        "analyses": analyses_of(options["pairs"][:1]),
        "seeds": [0],
        "datasets": options["datasets"][:1],
        "methods": options["methods"][:1],
        "metrics": options["metrics"][:1],
        "title": f"Title {HOSTILE}",
        "report": {"figures": True},
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures, "WIDTHS", {"1col": figures.WIDTHS["1col"]})
        report(folder, folder / "report" / "index.html", {**options, **few})
    (folder / "grid.json").write_text(grid_text({**options, **few}), encoding="utf-8")
    return folder / "report"


def strings_of(value):
    """Yield every text in what was read from JSON, keys as well."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for item in [*value, *value.values()] if isinstance(value, dict) else value:
            yield from strings_of(item)


class TestHostileNames:
    def test_text_files_have_no_control_characters(self, hostile):
        paths = [p for p in hostile.rglob("*") if p.suffix in (".html", ".tex", ".svg", ".txt")]
        assert {path.suffix for path in paths} == {".html", ".tex", ".svg", ".txt"}
        for path in paths:
            assert not ACTING.search(path.read_text(encoding="utf-8")), path.name
        page = Page((hostile / "index.html").read_text(encoding="utf-8"))
        attributes = [value for _, attrs in page.tags for value in attrs.values() if value]
        assert not any(map(ACTING.search, [*page.texts, *attributes]))

    def test_the_data_of_the_page_has_none(self, hostile):
        page = (hostile / "index.html").read_text(encoding="utf-8")
        found = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.S)
        data = "".join(text for part in found for text in strings_of(json.loads(part)))
        assert "=cmd" in data
        assert not ACTING.search(data)

    def test_the_page_shows_them(self, hostile):
        page = Page((hostile / "index.html").read_text(encoding="utf-8"))
        assert r"\x1b[31m\x1b]0;x\x07\r\u202eab\x9b" in page.text

    def test_figures_are_xml(self, hostile):
        for path in (hostile / "figures").glob("*.svg"):
            ElementTree.parse(path)

    def test_comments_of_latex_stay_comments(self, hostile):
        for path in (hostile / "tables").glob("*.tex"):
            assert not any(line.startswith("</script>") for line in path.read_text().splitlines())

    def test_spreadsheets_compute_nothing(self, hostile):
        seen = []
        for path in hostile.rglob("*.csv"):
            with path.open(newline="", encoding="utf-8") as file:
                seen += [cell for row in csv.reader(file) for cell in row]
        assert any(cell.startswith("'=cmd") for cell in seen)
        assert "'@x" in seen
        for cell in seen:
            if cell[:1] in ("=", "+", "-", "@", "\t", "\r"):
                float(cell)

    def test_the_terminal_shows_them(self, hostile, capsys):
        show(hostile.parent)
        printed = capsys.readouterr().out
        assert not ACTING.search(printed)
        assert r"Title \x1b[31m" in printed
        assert r"=cmd" in printed


def test_figures_are_drawn_or_left_out_as_the_config_says(study, options, tmp_path, monkeypatch):
    """In one width and format; tests/report/test_figures.py has the others."""
    monkeypatch.setattr(figures, "WIDTHS", {"1col": figures.WIDTHS["1col"]})
    monkeypatch.delitem(style.FORMATS, "pdf")
    shutil.copytree(study, tmp_path, dirs_exist_ok=True)
    page, folder = tmp_path / "report" / "index.html", tmp_path / "report" / "figures"
    assert not list(folder.iterdir())
    assert "effects-first-male-female_1col" not in page.read_text()
    report(tmp_path, page, {**options, "report": {"figures": True}})
    assert (folder / "effects-first-male-female_1col.svg").is_file()
    assert "effects-first-male-female_1col" in page.read_text()
    report(tmp_path, page, options)  # nothing is left that the new page does not show
    assert not list(folder.iterdir())


class TestProblems:
    @pytest.fixture
    def folder(self, study, tmp_path):
        shutil.copytree(study, tmp_path, dirs_exist_ok=True)
        shutil.rmtree(tmp_path / "report")
        return tmp_path

    @pytest.mark.parametrize(
        "path",
        [
            "tests/first/gpt/1/ig_few/gini.parquet",
            "bias/second/bert/0.parquet",
        ],
    )
    def test_a_missing_artefact_is_named_and_nothing_is_written(self, path, folder, options):
        (folder / path).unlink()
        with pytest.raises(InputError, match=rf"{path}: no such file; run the stage"):
            report(folder, folder / "report" / "index.html", options)
        assert not (folder / "report").exists()

    def test_a_grid_without_tests_is_refused(self, folder, options):
        with pytest.raises(InputError, match="at least one test"):
            report(folder, folder / "report" / "index.html", {**options, "metrics": {}})

    def test_what_is_beside_the_grid_is_left_out(self, folder, options):
        report(
            folder,
            folder / "report" / "index.html",
            {**options, "seeds": [1], "metrics": [["gini", "gini"]]},
        )
        found = read_results(folder, "disparity")
        assert len(found) == 2 * 2 * 3
        assert set(found["seed"]) == {1}

    def test_provenance_leaves_the_digest_out(self, folder, options):
        from exparity.artefacts.files import read_artefact

        report(folder, folder / "report" / "index.html", options)
        facts = read_artefact(folder / "report" / "disparity.parquet", "disparity")[1]
        assert "digest" not in facts["parameters"]
        assert facts["parameters"]["seeds"] == [0, 1, 2]


def test_every_flag_that_is_set_somewhere_has_a_meaning(repository):
    """Flags are set by name in stats and methods; readers of the page need words."""
    import re

    from exparity.methods._gradients import ROUNDING_NOISE
    from exparity.report.flags import meanings

    source = (repository / "src/exparity/stats/compare.py").read_text()
    named = set(re.findall(r'flags(?:\.append\(|, |\[\*flags, |.*?\[)"([a-z_]+)"', source))
    named |= {"too_few", "undefined_values", "interval_none", "interval_percentile", ROUNDING_NOISE}
    assert {"constant", "no_variance"} <= named
    assert named <= set(meanings())
