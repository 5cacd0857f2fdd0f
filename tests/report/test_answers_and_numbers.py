"""Whatever the verdicts, no sentence of the answers says what its numbers do not."""

import io
import math
import re
from collections import Counter
from dataclasses import replace
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up import config, grid_of, make_study
from report.test_findings_and_numbers import ranking_rows
from rich.console import Console

from exparity.core.formats import joined
from exparity.methods.facts import RANDOM
from exparity.report.conclusions import conclusions_of
from exparity.report.context import Context
from exparity.report.gather import gather
from exparity.report.picture import picture_of
from exparity.report.preference import favoured_group, other_group
from exparity.report.ranking import rankings_of
from exparity.report.sections.disparity import build
from exparity.report.sections.findings import _COUNTED, in_plain_words
from exparity.report.sections.overview import build as overview
from exparity.report.terminal import verdicts_of
from exparity.report.verdicts import (
    QUANTITIES,
    is_alike,
    is_decided,
    is_gap,
    verdict_of,
)
from exparity.report.witnesses import (
    ALIKE,
    DIFFER,
    NOT_ASKED,
    NOT_TESTED,
    PARTED,
    witness_tables,
)
from exparity.stats.verdicts import RANKS, VERDICTS

GROUPS = ("north", "east", "south", "west")
WORDS = [*(verdict.id for verdict in VERDICTS), None]


@pytest.fixture(scope="module", params=[2, 4], ids=["two_groups", "four_groups"])
def study(request, tmp_path_factory):
    groups = GROUPS[: request.param]
    options = config(datasets=1, models=1, seeds=2, methods=2, metrics=5)
    folder = make_study(
        tmp_path_factory.mktemp("answers"), options, pairs=12, groups=groups
    )  # fmt: skip
    gathered = gather(folder, grid_of(options))
    return lambda: gathered  # hypothesis would write out a study


def judged(study, seed):
    """Return the study with other verdicts, sides of gaps and tests of all groups."""
    rng = np.random.default_rng(seed)
    words = [WORDS, WORDS[:1], WORDS[-2:-1], WORDS[-1:], WORDS[:2]][rng.integers(5)]
    gates = {}
    rows = []
    for row in study.judged:
        is_scored = row.quantity == "score"
        if (row.stands or is_scored) and not row.is_random:
            word = words[rng.integers(len(words))]
            d = float(rng.choice([-1.5, -0.3, 0.3, 1.5]))
            cell = (row.dataset, row.model, row.method, row.metric)
            gate = gates.setdefault(cell, float(rng.choice([0.001, 0.4])))
            is_higher_better = row.metric_direction != "lower" or row.quantity == "skill"
            favoured = row.group_a if (d > 0) == is_higher_better else row.group_b
            has_gate = word and len(study.declared("data_0").groups) > 2
            row = replace(
                row,
                **{"verdict": word, "verdict_strict": word, "d": d, "rms_gap": abs(d)},
                flags=[] if word else ["too_few"],
                better_group=None if row.is_description else favoured,
                omnibus_p_bh=gate if has_gate else math.nan,
            )
        rows.append(row)
    return replace(study, judged=rows)


class Found(Context):
    """A context in which analyses found what is said."""

    def __init__(self, study, findings):
        super().__init__(study, study.results)
        self.given_findings = findings

    def found_by(self, analysis):
        return self.given_findings.get(analysis) or super().found_by(analysis)


def answers_of(study, **findings):
    answers = conclusions_of(Found(study, findings))
    return [" ".join([answer.text, *answer.more]) for answer in answers.values()]


def is_shown(rows):
    return any(is_gap(row) for row in rows)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=15)
def test_answers_agree_with_the_verdicts(study, seed):
    drawn = judged(study(), seed)
    rows = drawn.standing
    _, gaps, *_, advice = answers_of(drawn)
    tested = [row for row in rows if row.verdict]
    if not tested:
        assert gaps.startswith("Unknown")
        assert "differ" not in gaps
    for one, other in combinations(GROUPS, 2):
        for favoured in (one, other):
            unfavoured = other if favoured == one else one
            if f"most of all {favoured} and {unfavoured}" in gaps:
                assert any(is_gap(row) and favoured_group(row) == favoured
                           and other_group(row) == unfavoured for row in rows)  # fmt: skip
    for favoured in re.findall(r"(\w+) texts (?:have|are more conc|foresee)", gaps):
        assert any(is_gap(row) and verdict_of(row.verdict).favours for row in rows)
        assert favoured in GROUPS
    for said in re.findall(r"(\d+) of (\d+) pairs", gaps):
        assert int(said[0]) <= int(said[1]) == 6
        assert int(said[0]) > 0
        assert is_shown(rows)
    if "all 6 pairs of the 4 groups are alike" in gaps:
        assert any(map(is_alike, rows))
    if "groups differ with" in gaps and "but no pair" in gaps:
        assert any(row.omnibus_p_bh <= 0.025 for row in rows)
    if all(map(is_alike, rows)):
        assert "differ with" not in gaps
    undecided = sum(not is_decided(row.verdict) for row in tested)
    assert [
        [*map(int, said)] for said in re.findall(r"(\d+) of (\d+) results are open", advice)
    ] == ([[undecided, len(tested)]] if undecided else [])
    if "Nothing, for these groups" in advice:
        assert len(tested) == len(rows)
        assert not is_shown(rows)
        assert not undecided


@given(st.integers(0, 2**32 - 1), st.integers(0, 2))
@settings(max_examples=15)
def test_remedies_and_rankings_are_among_the_answers(study, seed, n_remedies):
    drawn = judged(study(), seed)
    rng = np.random.default_rng(seed)
    groups = drawn.declared("data_0").groups
    rows = ranking_rows(rng, [*drawn.methods, RANDOM], groups, is_higher_better=True)
    ids = {"dataset": "data_0", "model": drawn.pairs[0][1], "metric": next(iter(drawn.metrics))}
    rankings = rankings_of([{**row, **ids} for row in rows], drawn)
    remedies = [f"On {name}, explain texts otherwise." for name in "de"[:n_remedies]]
    *_, method, advice = answers_of(
        drawn, ranking={"rankings": rankings}, remedies={"sentences": remedies}
    )
    for sentence in rankings[0].sentences:
        assert sentence[1:] in method
    assert all(remedy in advice for remedy in remedies)
    assert not (remedies and "Nothing, for these groups" in advice)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=15)
def test_show_and_page_count_the_same_comparisons(study, seed):
    drawn = judged(study(), seed)
    context = Context(drawn, drawn.results)
    console = Console(width=10_000, file=io.StringIO())
    for part in verdicts_of(drawn.judged, 0.2, 0.95):
        console.print(part)
    of_show = Counter()
    of_page = Counter()
    for line in console.file.getvalue().splitlines():
        label, _, counts = line.partition(": decided ")
        if label in [QUANTITIES[rank] for rank in RANKS]:
            decided, total = re.match(r"(\d+) of (\d+) comparisons", counts).groups()
            of_show.update(decided=int(decided), total=int(total))
    beginnings = [words.split("{clear}")[0] for words in _COUNTED.values()]
    for line in in_plain_words(context):
        for beginning in beginnings:
            if found := re.match(rf"{re.escape(beginning)}([\d,]+) of ([\d,]+)", line):
                of_page.update(decided=int(found[1]), total=int(found[2]))
    assert of_show == of_page
    assert of_page["total"] == len(drawn.standing)
    of_cells = sum(len(table.cells) for table in context.tables)
    assert of_cells == of_page["total"]
    totals = overview(context).values["totals"]
    assert sum(counts.total for counts in totals) == of_page["total"]
    assert sum(counts.decided for counts in totals) == of_page["decided"]
    if of_page["decided"]:
        tiles = [t for panel in picture_of(drawn) for line in panel.lines if not line.is_random
                 for t in chain.from_iterable(line.cells)]  # fmt: skip
        assert len(tiles) == of_page["total"]
        assert sum(is_decided(t.verdict and t.verdict.id) for t in tiles) == of_page["decided"]


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=15)
def test_lines_on_all_groups_are_on_terminal_and_page(study, seed):
    drawn = judged(study(), seed)
    console = Console(width=10_000, file=io.StringIO())
    for part in verdicts_of(drawn.judged, 0.2, 0.95, drawn.statistics.alpha):
        console.print(part)
    on_page = build(Context(drawn, drawn.results)).values["over_groups"]
    on_terminal = [
        line for line in console.file.getvalue().splitlines() if ", all groups: " in line
    ]
    has_several = len(drawn.declared("data_0").groups) > 2
    n_cells = len({(row.model, row.metric) for row in drawn.standing})
    assert len(on_page) == len(on_terminal) == has_several * n_cells
    for line in on_page:
        if "groups differ with" in line:
            assert is_shown(drawn.standing)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=15)
def test_what_is_not_to_be_said_is_said_nowhere(study, seed):
    """A metric whose scores alone differ is named; its explanations have no gap of their own."""
    drawn = judged(study(), seed)
    *_, advice = answers_of(drawn)
    alone = [
        cell.score
        for cell in drawn.verdicts.values()
        if is_gap(cell.score)
        and not cell.score.is_description
        and not any(is_gap(row) for row in cell.rows.values() if row.stands)
    ]
    warned = re.findall(
        r"Do not say that (.+?) are explained better[^:]*: by ([^.]*) no difference", advice
    )
    rows = [row for row in alone if favoured_group(row) is not None]
    groups = {favoured_group(row) for row in rows}
    whose = f"{groups.pop()} texts" if len(groups) == 1 else "texts of one group"
    assert [words for words, _ in warned] == [whose] * bool(rows)
    for _, text in warned:
        assert f"in {len(rows)} results" in text or len(rows) == 1
        for row in rows:
            assert drawn.display("metric", row.metric).casefold() in text.casefold()


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=15)
def test_words_of_witnesses_are_those_of_their_verdicts(study, seed):
    drawn = judged(study(), seed)
    for table in witness_tables(drawn):
        for method, words in table.words.items():
            for witness, word in zip(table.witnesses, words, strict=True):
                rows = [
                    row
                    for row in drawn.standing
                    if row.witness == witness and drawn.display("method", row.method) == method
                ]
                gaps = [row for row in rows if is_gap(row)]
                sides = {favoured_group(row) for row in gaps}
                assert (word in (*GROUPS, DIFFER, PARTED)) == bool(gaps)
                assert word not in GROUPS or sides == {word}
                assert word != PARTED or len(sides) > 1
                assert word != ALIKE or all(map(is_alike, rows))
                assert (word == NOT_TESTED) == (bool(rows) and not any(r.verdict for r in rows))
        if f"agree that groups are alike with {joined([*table.words])}" in table.sentence():
            asked = {word for words in table.words.values() for word in words}
            assert asked <= {ALIKE, NOT_ASKED}
