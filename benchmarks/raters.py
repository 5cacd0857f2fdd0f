"""Measure what the comparison of groups of raters calls a gap, by simulation.

Usage: python benchmarks/raters.py [--runs N] [--texts N] [--only SETTING ...] [--data FOLDER]
       [--model FOLDER]

Words of a text have a weight. An explanation knows it with an error, part of which all trainings
share. A rater marks a share of the words: those with the largest weights, which he, too, knows with
an error. Raters of a group differ in both. Each text is marked by one rater of each of two groups,
and each rater marks ten texts. What a setting names is of the second group alone. The columns are
shares of runs in percent in which p is at most 0.05: of average precision (score), of its excess
over words in random order, and of skill; of the excess by a test that takes texts for the only
sample (texts alone); then the mean gap in excess, and the share of raters in its variance.

With --data, published sentences are explained instead: at random, or as many texts as --texts says
by gradient × input of a language model in a folder, prompted as in ``language_model.py``. Before
those at random, tables show what words in random order are expected to score, in closed form: by
group, and of the pairs of groups that differ most, with t over the texts of both and t over their
raters.
"""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.stats import ttest_1samp, ttest_ind
from shared import markdown, simulated_means, simulation_parser

from exparity.core.settings import DEFAULTS
from exparity.data import DATASETS, load_dataset
from exparity.data.facts import Marking
from exparity.data.fair_rationales import GROUPS, LABELS
from exparity.data.files import DataSource
from exparity.metrics import METRICS
from exparity.quantities.raters import EVERY, Rated, RatedTexts, Sides
from exparity.stats.crossed import crossed_tests
from exparity.stats.raters import RatedPairs, rater_test, relative
from exparity.types import BoolArray, Example, FloatArray, IntArray

ALPHA, TRAININGS, BATCH = 0.05, 3, 10
ORDER = ("first", "second")
CORPORA = ("sst", "dynasent", "cose")
MOST_PAIRS = 3
METRIC = METRICS.get("rationale_auprc")


@dataclass(frozen=True)
class Group:
    """Raters of a group.

    Attributes:
        marked: mean share of the words that they mark.
        share_sd: standard deviation of that between raters.
        error: standard deviation of what they err by in the weight of a word, whose own is 1.
        error_sd: standard deviation of the log of that between raters.
        true_rate: share of raters who mark the words of the largest weights, without error; the
            others mark words at random. None for raters who err as above.
    """

    marked: float = 0.29
    share_sd: float = 0.08
    error: float = 1.0
    error_sd: float = 0.5
    true_rate: float | None = None


@dataclass(frozen=True)
class Setting:
    """Two groups of raters, and how they share the texts.

    Attributes:
        first, second: the groups.
        together: whether the ten texts of a rater of one group are those of one of the other.
        missing: share of the pairs that are left out.
        texts: share of the texts that are there.
    """

    first: Group = Group()
    second: Group = Group()
    together: bool = True
    missing: float = 0.0
    texts: float = 1.0


def marks_of(
    group: Group, weights: FloatArray, lengths: IntArray, raters: IntArray, rng: np.random.Generator
) -> BoolArray:
    """Draw what the (n,) raters of n texts mark; weights are (n, w), −inf behind the last word."""
    n_raters = int(raters.max()) + 1
    share = np.clip(group.marked + group.share_sd * rng.normal(size=n_raters), 0.05, 0.9)
    error = group.error * np.exp(group.error_sd * rng.normal(size=n_raters))
    if group.true_rate is not None:
        error = np.where(rng.random(n_raters) < group.true_rate, 0.0, 1e6)
    seen = weights + error[raters, None] * rng.normal(size=weights.shape)
    count = np.maximum(1, np.round(share[raters] * lengths)).astype(np.int64)
    ranks = np.argsort(np.argsort(-seen, axis=1), axis=1)
    return np.asarray(ranks < count[:, None])


def run(setting: Setting, n_texts: int, rng: np.random.Generator) -> dict[str, float]:
    """Return what one study shows."""
    n_texts = int(setting.texts * n_texts)
    lengths = rng.integers(8, 31, n_texts)
    words = np.arange(30) < lengths[:, None]
    weights = np.where(words, rng.standard_t(4, size=words.shape), -np.inf)
    shared = rng.normal(size=words.shape)
    texts, raters, groups, marks = [], [], [], []
    for number, group in enumerate((setting.first, setting.second)):
        order = np.arange(n_texts) if setting.together or not number else rng.permutation(n_texts)
        own = np.empty(n_texts, dtype=np.int64)
        own[order] = np.arange(n_texts) // BATCH
        texts.append(np.arange(n_texts))
        raters.append(own + number * n_texts)
        groups.append(np.full(n_texts, number))
        marks.append(marks_of(group, weights, lengths, own, rng))
    kept = rng.random(2 * n_texts) >= setting.missing
    rater_numbers = np.unique(np.concatenate(raters)[kept], return_inverse=True)[1]
    pairs = RatedPairs(np.concatenate(texts)[kept], rater_numbers, np.concatenate(groups)[kept])
    marked = np.concatenate(marks)[kept]
    scores = []
    for _ in range(TRAININGS):
        explained = weights + 0.7 * shared + 0.5 * rng.normal(size=words.shape)
        of_pairs = np.where(words, explained, 0.0)[pairs.texts]
        scores.append(METRIC.function(of_pairs, marked, words[pairs.texts]))
    assert METRIC.facts.at_random is not None
    chance = METRIC.facts.at_random(lengths[pairs.texts], marked.sum(axis=1))
    return shown_by(np.array(scores), chance, pairs)


def shown_by(scores: FloatArray, chance: FloatArray, pairs: RatedPairs) -> dict[str, float]:
    """Return which quantities differ between two groups, and the gap in excess."""
    excess = scores - chance
    values = {
        "score": scores,
        "excess": excess,
        "skill": relative(scores, chance, pairs.groups),
    }
    is_first = pairs.groups == 0
    tests = {
        name: rater_test(own, pairs, is_first, ~is_first, ORDER, DEFAULTS)
        for name, own in values.items()
    }
    names = [ORDER[group] for group in pairs.groups]
    sets = [str(text) for text in pairs.texts]
    (alone,) = crossed_tests([*excess], names, ORDER, sets, only="mean")
    found = {name: 100.0 * (own.p_mean <= ALPHA) for name, own in tests.items()}
    return {
        **found,
        "texts alone": 100.0 * (alone.p_mean <= ALPHA),
        "gap": tests["excess"].estimate,
        "share of raters": tests["excess"].icc,
    }


PLAIN = Group()
TRUE = Group(true_rate=0.6)
SETTINGS = {
    "nothing": Setting(),
    "nothing, raters alike": Setting(replace(PLAIN, error_sd=0.0), replace(PLAIN, error_sd=0.0)),
    "nothing, raters differ more": Setting(
        replace(PLAIN, error_sd=1.0), replace(PLAIN, error_sd=1.0)
    ),
    "nothing, other texts for each": Setting(together=False),
    "nothing, a fifth missing": Setting(missing=0.2),
    "nothing, a quarter of the texts": Setting(texts=0.25),
    "marks 33 % in place of 25 %": Setting(
        replace(PLAIN, marked=0.25), replace(PLAIN, marked=0.33)
    ),
    "marks 40 % in place of 20 %": Setting(replace(PLAIN, marked=0.2), replace(PLAIN, marked=0.4)),
    "true or random, 60 % and 60 %": Setting(TRUE, TRUE),
    "true or random, 60 % and 60 %, marks more": Setting(
        replace(TRUE, marked=0.25), replace(TRUE, marked=0.33)
    ),
    "all at random, marks more": Setting(
        Group(marked=0.25, true_rate=0.0), Group(marked=0.33, true_rate=0.0)
    ),
    "true or random, 60 % and 30 %": Setting(TRUE, replace(TRUE, true_rate=0.3)),
    "error 1.5": Setting(second=replace(PLAIN, error=1.5)),
    "error 2": Setting(second=replace(PLAIN, error=2.0)),
    "error 2, marks 33 % in place of 25 %": Setting(
        replace(PLAIN, marked=0.25), replace(PLAIN, error=2.0, marked=0.33)
    ),
}


def published(corpus: str, folder: Path) -> tuple[dict[str, Example], RatedTexts]:
    """Return the published sentences by their ids, and what raters marked."""
    source = DataSource(folder, download=False)
    options = {"corpus": corpus, "verify": False}
    loaded = load_dataset("fair_rationales", source, options)
    tests = {example.example_id: example for example in loaded if example.split == "test"}
    markings = DATASETS.get("fair_rationales").facts.markings
    assert markings is not None
    return tests, RatedTexts([Rated.of(m) for m in markings(source, tests, **options)], np.nan)


def model_on_real(corpus: str, folder: Path, model: str, n_texts: int) -> None:
    """Print how a language model's explanations agree with groups of raters who see its label."""
    import language_model  # needs transformers

    from exparity.methods import explain_many

    tests, rated = published(corpus, folder)
    ids = np.random.default_rng(0).permutation(sorted(tests))[:n_texts].tolist()
    task = language_model.sentences(DataSource(folder, download=False), 2)
    classifier = task.classifier(language_model.Model(model), "two-shot")
    texts = [" ".join(tests[name].words) for name in ids]
    found = explain_many(classifier, texts, None, {"gradient_x_input": {}})["gradient_x_input"]
    explanations = dict(zip(ids, found, strict=True))
    predicted = {name: LABELS[explanation.target] for name, explanation in explanations.items()}
    right = np.mean([predicted[name] == LABELS[tests[name].label] for name in ids])
    rows = [row for row in rated.rows if row.label == predicted.get(row.example_id)]
    chosen = RatedTexts(rows, np.nan)
    scores = chosen.scores(explanations, "rationale_auprc", "absolute")[None]
    chance = chosen.chance("rationale_auprc")
    print(f"{corpus}: {len(ids)} texts, {right:.0%} right, {len(rows)} pairs")
    print(markdown(levels_of(chosen, scores, chance)))
    print()
    print(markdown(gaps_of(chosen, scores, chance)))


def levels_of(
    rated: RatedTexts, scores: FloatArray, chance: FloatArray
) -> list[dict[str, str | int]]:
    """Return score, chance and excess of each group of raters."""
    groups = np.array(rated.groups)
    rows: list[dict[str, str | int]] = []
    for group in rated.order:
        chosen = groups == group
        score, random = np.nanmean(scores[:, chosen]), np.nanmean(chance[chosen])
        rows.append(
            {
                "raters": group,
                "pairs": int(chosen.sum()),
                "score": f"{score:.3f}",
                "random": f"{random:.3f}",
                "excess": f"{score - random:+.3f}",
            }
        )
    return rows


def gaps_of(rated: RatedTexts, scores: FloatArray, chance: FloatArray) -> list[dict[str, str]]:
    """Return the planned contrasts of skill, and the gaps that a single test finds."""
    skill = relative(scores, chance, rated.pairs.groups)
    rows = []
    for sides in rated.comparisons():
        if sides.compared == EVERY:
            continue
        test = rater_test(skill, rated.pairs, sides.first, sides.second, sides.names, DEFAULTS)
        findable = test.minimal_detectable_effect * test.pooled_sd
        rows.append(
            {
                "contrast": " − ".join(sides.names),
                "gap in skill": f"{test.estimate:+.3f}",
                "p": f"{test.p_mean:.2f}",
                "found with 80 %": f"{findable:.2f}",
            }
        )
    return rows


def expected_on_real(folder: Path) -> None:
    """Print what words of published texts in random order are expected to score, by group.

    The questions of CoS-E are read here alone: words in random order need no classifier.
    """
    levels, gaps = [], []
    for corpus in CORPORA:
        rated = RatedTexts(answers(corpus, folder), np.nan)
        chance = rated.chance("rationale_auprc")
        groups = np.array(rated.groups)
        means = {name: f"{np.nanmean(chance[groups == name]):.3f}" for name in rated.order}
        levels.append({"corpus": corpus, **means})
        pairs = [
            gap_at_random(rated, chance, s) for s in rated.comparisons() if s.compared == EVERY
        ]
        by_size = sorted(pairs, key=lambda gap: -abs(gap.t_texts))
        gaps += [{"corpus": corpus, **gap.cells} for gap in by_size[:MOST_PAIRS]]
    print(markdown(levels))
    print()
    print(markdown(gaps))
    print()


def answers(corpus: str, folder: Path) -> list[Rated]:
    """Return what raters marked in the texts of a published file."""
    with (folder / "fair_rationales" / f"{corpus}.csv").open(encoding="utf-8", newline="") as file:
        return [
            Rated.of(
                Marking(
                    file.name,
                    row["text_id"],
                    row["annotator_ID"],
                    GROUPS[row["group_id"]],
                    json.loads(row["rationale_binary"]),
                    row["label"],
                )
            )
            for row in csv.DictReader(file)
        ]


@dataclass(frozen=True)
class GapAtRandom:
    """The gap between two groups of raters in what words in random order are expected to score.

    Attributes:
        names: the groups.
        gap: mean difference over the texts of both.
        d: the gap over the pooled standard deviation of pairs.
        t_texts: t of the differences of texts, paired.
        t_raters: t of the means of raters, after Welch.
        p: of the test over texts and raters that the analysis does.
    """

    names: tuple[str, str]
    gap: float
    d: float
    t_texts: float
    t_raters: float
    p: float

    @property
    def cells(self) -> dict[str, str]:
        """A row of a table."""
        return {
            "raters": " − ".join(self.names),
            "gap": f"{self.gap:+.3f}",
            "d": f"{self.d:+.2f}",
            "t over texts": f"{self.t_texts:+.1f}",
            "t over raters": f"{self.t_raters:+.1f}",
            "p of both": f"{self.p:.3f}",
        }


def gap_at_random(rated: RatedTexts, chance: FloatArray, sides: Sides) -> GapAtRandom:
    """Compare two groups by (p,) expected values; pairs without one are left out."""
    known = np.isfinite(chance)
    first = np.flatnonzero(sides.first & known)
    second = np.flatnonzero(sides.second & known)
    by_text = [dict(zip(rated.pairs.texts[s], chance[s], strict=True)) for s in (first, second)]
    shared = sorted(by_text[0].keys() & by_text[1].keys())
    differences = [by_text[0][text] - by_text[1][text] for text in shared]
    rater_means = [means_of(chance[side], rated.pairs.raters[side]) for side in (first, second)]
    test = rater_test(chance[None], rated.pairs, sides.first, sides.second, sides.names, DEFAULTS)
    return GapAtRandom(
        sides.names,
        test.estimate,
        test.d,
        float(ttest_1samp(differences, 0.0).statistic),
        float(ttest_ind(*rater_means, equal_var=False).statistic),
        test.p_mean,
    )


def means_of(values: FloatArray, owners: IntArray) -> FloatArray:
    """Return the mean of the values of each owner."""
    _, places, counts = np.unique(owners, return_inverse=True, return_counts=True)
    return np.asarray(np.bincount(places, values) / counts, dtype=np.float64)


def random_on_real(corpus: str, folder: Path, draws: int) -> None:
    """Print what random explanations of published sentences score by group, and what is shown."""
    _, rated = published(corpus, folder)
    chance = rated.chance("rationale_auprc")
    lengths, _ = rated.marked
    words = np.arange(lengths.max()) < lengths[:, None]
    marked = np.zeros(words.shape, dtype=bool)
    for marks, row in zip(marked, rated.rows, strict=True):
        marks[: len(row.rationale)] = row.rationale
    comparisons = [*rated.comparisons()]
    shown: dict[str, list[list[bool]]] = {"score": [], "excess": []}
    for draw in range(draws):
        rng = np.random.default_rng(draw)
        drawn = rng.random((rated.pairs.texts.max() + 1, words.shape[1]))[rated.pairs.texts]
        scores = METRIC.function(np.where(words, drawn, 0.0), marked, words)
        for name, values in (("score", scores), ("excess", scores - chance)):
            found = [
                rater_test(values[None], rated.pairs, s.first, s.second, s.names, DEFAULTS)
                for s in comparisons
            ]
            shown[name].append([test.p_mean <= ALPHA for test in found])
    for name, results in shown.items():
        shares = np.mean(results, axis=0)
        most = comparisons[int(shares.argmax())]
        print(
            f"{corpus} {name}: {shares.mean():.1%} of comparisons differ, and "
            f"{' − '.join(most.names)} in {shares.max():.0%} of the draws"
        )


def main() -> None:
    """Print a table of all settings."""
    parser = simulation_parser(__doc__, SETTINGS, runs=200, texts=260)
    parser.add_argument(
        "--data", type=Path, help="folder with fair_rationales: random explanations"
    )
    parser.add_argument("--model", help="folder of a language model that is explained, with --data")
    options = parser.parse_args()
    if options.model:
        model_on_real("sst", options.data, options.model, options.texts)
        return
    if options.data:
        expected_on_real(options.data)
        for corpus in ("sst", "dynasent") if options.runs else ():
            random_on_real(corpus, options.data, options.runs)
        return
    simulated_means(SETTINGS, run, options, digits=3)


if __name__ == "__main__":
    main()
