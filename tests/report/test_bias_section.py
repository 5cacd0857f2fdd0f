"""Model bias in the report: aggregation over seeds, CSV, LaTeX and the part of the page."""

import math
import statistics
from functools import cache
from itertools import chain, product
from types import SimpleNamespace

import pytest
from made_up import Results
from report.reading import Page

from exparity.artefacts.grid import Grid
from exparity.report.bias import OVER_CLASSES, QUANTITIES, bias_tables
from exparity.report.downloads import bias_export
from exparity.report.gather import gather
from exparity.report.templating import html_environment
from exparity.stats.bootstrap import Draws
from exparity.stats.flags import FLAGS
from exparity.stats.model_bias import fpr_gaps, model_bias
from exparity.stats.predictions import predictions_of
from exparity.stats.rms import rms_of_groups

SEEDS = (0, 1, 2)
PAIRS = [("two", "bert"), ("two", "gpt_2"), ("<b>many</b>", "bert")]
GROUPS = {"two": ("m", "f"), "<b>many</b>": ("g", "h & i", "j")}
CLASSES = {"two": ("no", "yes"), "<b>many</b>": ("<i>a</i>", "b_1", "c")}
STUDY = SimpleNamespace(seeds=SEEDS, display=lambda kind, id: f"{kind} {id}")
COLLAPSED = {("two", "gpt_2", 1), ("two", "gpt_2", 2)}


@cache
def measured(dataset, model, seed):
    """Of thirty texts. In 'two' the label is the group, so that rates by group are undefined."""
    groups, classes, texts = GROUPS[dataset], CLASSES[dataset], []
    for i in range(30):
        place = i % len(groups)
        label = 1 - place if dataset == "two" else (i // 3) % 3
        predicted = (label + (i % 5 < seed + (model == "bert"))) % len(classes)
        if (dataset, model, seed) in COLLAPSED:
            predicted = 0
        top = 0.6 + 0.01 * i + 0.02 * seed
        rest = (1 - top) / (len(classes) - 1)
        probabilities = [top if c == predicted else rest for c in range(len(classes))]
        pair = str(i // 2) if dataset == "two" else None
        texts.append((label, predicted, probabilities, groups[place], pair))
    *columns, pairs = zip(*texts, strict=True)
    data, draws = predictions_of(*columns, groups, classes, pairs), Draws(resamples=0)
    rows = model_bias(data, draws)
    if len(CLASSES[dataset]) > 2:
        rows += [*fpr_gaps(rows), *rms_of_groups(data, draws)]
    return {(r.quantity, r.group, r.group_b, r.class_name): r for r in rows}


def write(folder, dataset, model, seed, change=lambda row: row):
    rows = [{**change(vars(r)), "seed": seed} for r in measured(dataset, model, seed).values()]
    facts = {"groups": GROUPS[dataset], "labels": CLASSES[dataset], "attribute": "a & b"}
    Results(folder).add_seed("bias", rows, dataset, model, **facts)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study") / "results"
    for pair, seed in product(PAIRS, SEEDS):
        write(folder, *pair, seed)
    return folder


def study_of(results, pairs=PAIRS):
    """The study of the bias artefacts of a folder."""
    return gather(results, Grid(pairs=pairs, seeds=SEEDS, analyses={"bias": pairs}, title="t"))


@pytest.fixture(scope="module")
def study(results):
    return study_of(results)


@pytest.fixture(scope="module")
def tables(study):
    return bias_tables(study)


@pytest.mark.contract
def test_every_quantity_that_is_measured_has_a_name_and_every_flag_a_meaning(study):
    assert {row.quantity for row in study.bias} == {*QUANTITIES, *OVER_CLASSES}
    assert {flag for row in study.bias for flag in row.flags} <= set(FLAGS)


@pytest.mark.reference
class TestTables:
    def test_lines_are_what_was_measured(self, tables):
        for table in tables:
            lines = [(x.quantity, x.group, x.group_b, x.class_name) for x in table.lines]
            assert len(lines) == len(set(lines))
            assert set(lines) == set(measured(table.dataset, "bert", 0))

    def test_mean_sd_and_counts_over_seeds(self, tables):
        seen = 0
        for table in tables:
            for (line, model), cell in table.cells.items():
                key = line.quantity, line.group, line.group_b, line.class_name
                values = [measured(table.dataset, model, s)[key].value for s in SEEDS]
                values = [v for v in values if not math.isnan(v)]
                assert cell.runs == len(values)
                assert cell.undefined_runs == len(SEEDS) - len(values)
                collapsed = [(table.dataset, model, s) in COLLAPSED for s in SEEDS]
                assert cell.collapsed_runs == sum(collapsed)
                if not values:
                    assert (cell.mean, cell.sd) == (None, None)
                    continue
                assert cell.mean == pytest.approx(statistics.fmean(values), abs=1e-12)
                assert cell.sd == pytest.approx(statistics.stdev(values), abs=1e-12)
                seen += 1
        assert seen > 100

    def test_of_two_classes_the_second_is_shown_and_of_more_each(self, tables):
        rates = ("tpr", "tnr", "selection_rate", "tpr_gap", "equalised_odds_gap")
        two, many = ({x.class_name for r in rates for x in t.shown.get(r, ())} for t in tables)
        assert two == {"yes"}
        assert many == set(CLASSES["<b>many</b>"])
        assert {x.class_name for table in tables for x in table.shown["apd_unpaired"]} == {""}


def render(tables):
    template = html_environment().get_template("_bias.html.j2")
    return template.render(study=STUDY, bias_tables=tables)


class TestPage:
    def test_every_shown_line_and_cell_on_page_and_in_latex(self, tables):
        for found, table in zip(Page(render(tables)).tables, tables, strict=True):
            rows = [[texts for texts, _ in row] for row in found["rows"]]
            assert [" ".join(x) for x in rows[0]] == ["Quantity", "Class", "Group", *table.models]
            latex = bias_export(STUDY, table).latex.splitlines()
            assert rf"\begin{{tabular}}{{lll{'c' * len(table.models)}}}" in latex
            assert latex.count(r"\midrule") == len(table.shown)
            body = [line.removesuffix(r" \\") for line in latex if line.endswith(r"\\")][1:]
            shown_lines = chain.from_iterable(table.shown.values())
            for row, line_of_latex, line in zip(rows[1:], body, shown_lines, strict=True):
                cells = row[-len(table.models) :]
                _, class_text, _, *texts_of_latex = line_of_latex.split(" & ")
                if table.dataset == "two":  # names of the other need escapes
                    assert class_text == line.class_text
                for text, of_latex, model in zip(cells, texts_of_latex, table.models, strict=True):
                    cell = table.cells[line, model]
                    number = f"{cell.mean:+.3f}" if line.signed else f"{cell.mean:.3f}"
                    mark = r"^\dagger" if cell.collapsed_runs else ""
                    assert of_latex == rf"${number} \pm {cell.sd:.3f}{mark}$"
                    shown = f"{number.replace('-', '−')}{'†' if mark else ''}"
                    assert "".join(text) == f"{shown}± {cell.sd:.3f}"
                group = row[-len(table.models) - 1]
                assert group[0].startswith(line.group or "all")

    def test_a_line_undefined_for_some_models_or_seeds_says_so(self, results, tmp_path):
        def undefined(row):
            value = {"value": math.nan, "flags": ["no_examples"]}
            return {**row, **value} if row["quantity"] == "accuracy" else row

        for seed in SEEDS:
            write(tmp_path, "two", "bert", seed, undefined if seed == 2 else lambda row: row)
        found = Page(render(bias_tables(study_of(tmp_path, PAIRS[:1]))))
        assert "2 of 3 seeds" in " ".join(found.tables[0]["rows"][1][-1][0])
