"""What sections are made from: distributions, the sample, cost, formulas, embedded data."""

import math
import re
import tracemalloc
from dataclasses import replace
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest
from made_up import Results, config, grid_of, make_study
from report.reading import Page, unpacked
from support import need

from exparity.artefacts import layout
from exparity.artefacts.files import read_artefact
from exparity.costs.finished import read_finished
from exparity.costs.forecast import totals
from exparity.quantities.inputs import Prediction
from exparity.report.context import Context
from exparity.report.gather import gather
from exparity.report.provenance import ArtefactOrigin
from exparity.report.reading import read_costs, totals_by_part
from exparity.report.render import packed_json, render_page
from exparity.report.rows import TextRow
from exparity.report.scores import ExampleScores, distribution
from exparity.report.sections import explanations
from exparity.report.sections.definitions import source_html, to_html
from exparity.report.sections.explanations import _example, choose_sets
from exparity.report.sections.findings import in_plain_words
from exparity.report.sections.overview import _counted, pieces_of_words
from exparity.tools.cost import cost


def test_a_score_of_three_groups_counts_once():
    rows = [SimpleNamespace(dataset="d", n_undefined=4)] * 3  # a test of each pair
    groups = SimpleNamespace(groups=("a", "b", "c"))
    assert _counted(SimpleNamespace(rows=rows, declared={"d": groups}.get), "n_undefined") == 6


def test_pieces_of_words_are_a_sentence_where_they_differ_and_tokens_are_scored():
    def origin(artefact, model, **facts):
        return ArtefactOrigin(artefact, {"dataset": "d", "model": model}, facts)

    pieces = {"female": 1.4156, "male": 1.2}
    units = [("bert", "word"), ("bert", "token"), ("gpt", "word"), ("t5", "token")]
    origins = [
        *(origin("predictions", model, pieces_by_group=pieces) for model in ("bert", "gpt")),
        origin("predictions", "t5"),
        *(origin("scores", model, parameters={"params": {"unit": unit}}) for model, unit in units),
        origin("scores", "gpt", parameters={}),
    ]
    (sentence,) = pieces_of_words(origins)
    assert sentence.startswith(
        "On d, bert cuts a word into 1.42 (female), 1.20 (male) tokens on average. A gap in"
    )


def test_prompts_are_beside_their_runs_and_low_ones_are_marked(tmp_path):
    settings = config(datasets=1, models=1, seeds=4, methods=1, metrics=1)
    results = Results(make_study(tmp_path / "results", settings, pairs=6))
    for seed in range(4):
        cell = "data_0", "model_0", seed
        table, _ = read_artefact(results.path("predictions", *cell), "predictions")
        rows = table.drop_columns(["dataset", "model", "seed"]).to_pylist()
        facts = {"label_mass": 0.007 if seed == 2 else 0.9}
        facts |= {"flags": ["label_mass_low"]} if seed == 2 else {}
        prompt = {"template": f"<b>{seed}</b>\n{{text}}"}
        results.write("predictions", rows, *cell, parameters={"prompt": prompt}, **facts)
    study = gather(results.root, grid_of(settings))
    page = render_page(Context(study, tmp_path))
    section = page[page.index('<section id="prompts"') :].partition("</section>")[0]
    rows = re.findall(r"<tr><td>.*?</tr>", section, re.DOTALL)
    assert len(rows) == 4
    for seed, row in enumerate(rows):
        assert f'<code class="template">&lt;b&gt;{seed}&lt;/b&gt;\n{{text}}</code>' in row
        assert ("<strong>low</strong>" in row) == (seed == 2)
        assert ("0.007" if seed == 2 else "0.900") in row


def test_answers_that_cannot_be_read_are_counted_by_group(tmp_path):
    settings = config(datasets=1, models=1, seeds=2, methods=2, metrics=1)
    first, _ = settings["methods"]
    results = Results(make_study(tmp_path / "results", settings, pairs=6))
    written = {"answer": "a", "answer_words": 4, "foreign_words": 1}
    for seed in range(2):
        cell = "data_0", "model_0", seed
        groups = read_artefact(results.path("predictions", *cell), "predictions")[0]["group"]
        table, _ = read_artefact(results.path("explanations", *cell, first), "explanations")
        kept = [
            name
            for name in table.column_names
            if name not in {*written, *layout.levels("explanations")}
        ]
        rows = table.select(kept).to_pylist()
        for row, group in zip(rows, groups.to_pylist(), strict=True):
            row |= {**written, "named_words": 2 * (group == results.groups[0])}
        results.write("explanations", rows, *cell, first)
    grid = grid_of(settings)
    grid = replace(grid, methods={**grid.methods, first: "self_explanation"})
    context = Context(gather(results.root, grid), tmp_path)
    lines = {line.group: line for line in context.written}
    a, b = results.groups
    assert (lines[a].unread, lines[a].named_words) == (0, 2)
    assert (lines[b].unread, lines[b].named_words) == (1, 0)
    assert lines[b].n_answers == lines[a].n_answers == 12
    page = render_page(context)
    section = page[page.index('<section id="self_explanations"') :].partition("</section>")[0]
    assert re.findall(r">(\d+)&nbsp;%<", section) == ["0", "100"]
    (export,) = [export for export in context.exports if export.name == "self_explanations"]
    assert [row["group"] for row in export.rows] == [a, b]
    (sentence,) = [line for line in in_plain_words(context) if "can be read" in line]
    assert sentence.endswith(
        f"0% of 12 answers to {a} texts and 100% of 12 answers to {b} texts; they score 0 and "
        "count."
    )


class TestDistribution:
    def test_numbers_are_quartiles_of_each_group(self):
        rng = np.random.default_rng(0)
        values = {"a": rng.normal(size=200), "b": rng.normal(1, 2, size=150)}
        scores = np.concatenate([*values.values()])
        groups = np.repeat(["a", "b"], [200, 150])
        found = distribution(scores, groups, ("a", "b"))
        for numbers, spread, part in zip(
            found.numbers, found.spreads, values.values(), strict=True
        ):
            quartiles = np.quantile(part, (0, 0.25, 0.5, 0.75, 1)).tolist()
            assert numbers == (len(part), quartiles)
            assert spread.numbers[2] == quartiles[2]

    def test_a_group_without_defined_scores_is_none(self):
        found = distribution(np.array([1.0, np.nan]), np.array(["b", "a"]), ("a", "b"))
        assert found.numbers == [None, (1, [1.0] * 5)]
        assert found.spreads[0] is None
        assert found.spreads[1].is_flat  # one value, or equal ones, have no density
        assert distribution(np.array([np.nan]), np.array(["a"]), ("a", "b")) is None


def test_where_the_second_text_of_a_pair_begins():
    text = TextRow("a", "g", None, 0, "test", ["x", "y"], [0, 1, 1, 0], words_b=["z", "w"])
    shown = _example(text, Prediction("a", "g", None, 0, 1, [0.25, 0.75]))
    assert (shown["words"], shown["second"]) == (["x", "y", "z", "w"], 2)
    assert shown["rationale"] == [1, 2]


class TestSample:
    def sets(self, n):
        return {f"set {i:02d}": [f"{i}-a", f"{i}-b"] for i in range(n)}

    def test_half_are_the_largest_disparities_and_half_are_spread(self):
        sets = self.sets(20)
        names = [f"{i}-{g}" for i in range(20) for g in "ab"]
        numbers = np.array([i * (g == "a") for i in range(20) for g in "ab"], dtype=float)
        places = {name: place for place, name in enumerate(names)}
        values = {("m", "k"): ExampleScores(places, numbers)}
        explained = {"m": {id for ids in sets.values() for id in ids}}
        chosen = choose_sets(sets, explained, values, 6)
        assert chosen[:3] == ["set 19", "set 18", "set 17"]
        assert chosen[3:] == ["set 16", "set 08", "set 00"]

    def test_sets_that_every_method_explained_come_first(self):
        sets = self.sets(10)
        everything = {id for ids in sets.values() for id in ids}
        few = {"2-a", "2-b", "5-a", "5-b", "7-a"}
        chosen = choose_sets(sets, {"m": everything, "few": few}, {}, 2)
        assert set(chosen) == {"set 02", "set 05"}


def test_costs_are_the_totals_of_the_finished_jobs(tmp_path):
    settings = config(datasets=1, models=1, seeds=2, methods=2, metrics=2)
    make_study(tmp_path, settings, pairs=6)
    cost(tmp_path)
    jobs = read_costs(tmp_path)
    assert totals(jobs) == totals(read_finished(tmp_path))
    parts = totals_by_part(jobs)
    counts = {stage: sum(job.stage == stage for job in jobs) for stage in ("explain", "evaluate")}
    for stage, n in counts.items():
        of_stage = {part[1]: one for part, one in parts.items() if part[0] == stage}
        assert sorted(of_stage) == sorted(
            settings[{"explain": "methods", "evaluate": "metrics"}[stage]]
        )
        assert sum(one.jobs for one in of_stage.values()) == n > 0


MATHML = ("mrow", "mi", "mo", "mn", "mtext")


class TestDefinitions:
    def test_text_is_escaped_and_code_is_marked(self):
        assert to_html("a < b ``x<y``") == "<p>a &lt; b <code>x&lt;y</code></p>"

    def test_formulas_are_mathml(self):
        need(find_spec("latex2mathml") is not None, "latex2mathml")
        found = to_html(r"Half: :math:`\frac{1}{2}` of it")
        assert re.search(r"Half: <math.*<mfrac>.*</math> of it", found)

    @pytest.mark.parametrize(
        ("tex", "shown"),
        [
            (r"<script> \notacommand{", "<script>"),
            (r"\text{&lt;img src=x onerror=alert(1)&gt;}", "<img src=x onerror=alert(1)>"),
            (r"\operatorname{</mo><b>}", "</mo><b>"),
        ],
    )
    def test_a_formula_brings_no_markup_of_its_own(self, tex, shown):
        need(find_spec("latex2mathml") is not None, "latex2mathml")
        page = Page(to_html(f":math:`{tex}`"))
        assert {tag for tag, _ in page.tags} <= {"p", "code", "math", *MATHML}
        named = {name for _, attrs in page.tags for name in attrs}
        assert named <= {"class", "xmlns", "display", "mathvariant", "stretchy"}
        assert shown.replace(" ", "") in re.sub(r"\s", "", page.text)

    def test_sources_are_links(self):
        found = source_html("A & B 2020, doi:10.1/x.y, section 4.2")
        assert found == (
            'A &amp; B 2020, <a href="https://doi.org/10.1/x.y" rel="noreferrer">doi:10.1/x.y</a>'
            ", section 4.2"
        )


def test_packed_data_come_back_and_end_no_element():
    values = [0.1 + 0.2, 1e-300, 2**53 - 1, -0.0, 1 / 3]
    assert unpacked(packed_json(values)) == [0.3, 1e-300, 2**53 - 1, -0.0, 0.333333]
    found = packed_json({"a": math.nan, "b": (math.inf, -math.inf)})
    assert unpacked(found) == {"a": None, "b": ["inf", "-inf"]}
    for text in ("</script>", "<!--", "<script>"):
        assert "<" not in packed_json([text])
        assert unpacked(packed_json([text])) == [text]


def test_memory_of_explanations_grows_with_the_sample(tmp_path):
    """Six methods explain each text; of all that are not shown, only ids and scores are held."""
    settings = config(datasets=1, models=1, seeds=1, methods=6, metrics=2)
    peaks = {}
    for pairs in (60, 360):
        folder = tmp_path / str(pairs)
        make_study(folder, settings, pairs=pairs)
        context = Context(gather(folder, grid_of(settings)), folder)
        explanations.build(context)  # imports
        tracemalloc.start()
        content = explanations.build(context)
        peaks[pairs] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert len(content.data["samples"][0]["sets"]) == explanations.SETS_PER_CLASSIFIER
    texts = 2 * (360 - 60)

    print("bytes", (peaks[360] - peaks[60]) / texts)
    assert peaks[360] - peaks[60] < 3000 * texts  # bytes; rows of six methods have 14,000
