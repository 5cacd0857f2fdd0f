"""Agreement of attributions: against scipy and loops, and what is compared of it."""

import math
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from analyses.page import page_of
from hypothesis import given
from hypothesis import strategies as st
from made_up import GROUPS, Results, keys_of
from scipy.stats import spearmanr

from exparity.analyses.agreement import MEASURES, agreement_cell, agreements
from exparity.analyses.agreement.section import agreement_tables, findings
from exparity.artefacts.files import read_artefact
from exparity.core.errors import InputError

STATISTICS = {"alpha": 0.05, "threshold": 0.2, "confidence": 0.95}
TOP = 0.3
N_SETS, LENGTH = 20, 12


def naive(a, b):
    """Return the agreement of two attributions, token by token."""
    k = max(1, round(TOP * len(a)))
    tops = [
        set(sorted(range(len(x)), key=lambda i, x=x: (-abs(x[i]), i))[:k]) for x in (a, b)
    ]  # fmt: skip
    common = tops[0] & tops[1]
    same = [i for i in common if (a[i] > 0) == (b[i] > 0) and (a[i] < 0) == (b[i] < 0)]
    same = [i for i in same if a[i] != 0]
    return {
        "spearman": spearmanr(np.abs(a), np.abs(b)).statistic,
        "top_overlap": len(common) / k,
        "sign": len(same) / len(common) if common else math.nan,
    }


class TestPairwise:
    @pytest.mark.reference
    @given(st.integers(3, 40), st.integers(0, 1000), st.booleans())
    def test_it_is_scipys_correlation_and_what_loops_count(self, t, seed, has_ties):
        scores = np.random.default_rng(seed).normal(size=(3, t))
        scores = np.round(scores * 2) / 2 + (not has_ties) * 1e-3 * scores
        scores[:, 0] = 5.0  # no row is of one size
        found = agreements(scores, TOP)
        for i, j in combinations(range(3), 2):
            expected = naive(scores[i], scores[j])
            for measure in MEASURES:
                value = found[measure][i, j]
                assert value == pytest.approx(expected[measure], abs=1e-12, nan_ok=True)
                assert found[measure][j, i] == pytest.approx(value, nan_ok=True)

    @pytest.mark.parametrize(
        "scores",
        [
            [[1.0, 2.0], [2.0, 1.0]],
            [[1.0, -1.0, 1.0], [1.0, 2.0, 3.0]],
            [[1.0, math.nan, 1.0], [1.0, 2.0, 3.0]],
        ],
        ids=["two tokens", "equal sizes", "undefined"],
    )
    def test_nothing_is_said_of(self, scores):
        found = agreements(np.array(scores), TOP)
        assert all(math.isnan(found[measure][0, 1]) for measure in MEASURES)


class Study:
    """Explanations of matched sets by methods in trainings, as jobs write them."""

    def __init__(self, folder, methods=("one", "two"), seeds=(0, 1, 2, 3)):
        self.results, self.rng = Results(folder), np.random.default_rng(5)
        self.folder, self.scores = folder, {}
        self.examples, self.labels = keys_of(N_SETS), [0, 0, 1, 1] * (N_SETS // 2)
        self.results.write_texts(self.examples, self.labels, "d")
        for seed in seeds:
            self.predict(seed, self.labels)
            for method in methods:
                self.explain(seed, method)

    def predict(self, seed, predicted):
        self.results.write_predictions(self.examples, self.labels, predicted, "d", "m", seed)

    def explain(self, seed, method, scores=None, use=None, **changes):
        rows = []
        for i, example in enumerate(self.examples):
            own = self.rng.normal(size=LENGTH) if scores is None else scores(i, example)
            self.scores[seed, method, i] = own = np.float32(own).astype(float)
            row = {
                "example_id": example["example_id"], "target": self.labels[i],
                "tokens": ["t"] * (LENGTH + 2), "token_ids": list(range(LENGTH + 2)),
                "word_ids": [-1, *(j // 2 for j in range(LENGTH)), -1],
                "scores": [9.0, *own.tolist(), -9.0],
            }  # fmt: skip
            rows.append({**row, **{k: f(i) for k, f in changes.items() if f(i) is not None}})
        parameters = {"use": use or method, "params": {}}
        self.results.write("explanations", rows, "d", "m", seed, method, parameters=parameters)

    def run(self, **options):
        files = [self.results.of_model(name, "d", "m") for name in ("predictions", "explanations")]
        output = self.folder / "agreement.parquet"
        options = {"top_share": TOP, "statistics": STATISTICS, **options}
        agreement_cell(self.folder / "data/d.parquet", *files, output, **options)
        self.rows = read_artefact(output, "agreement")[0].to_pylist()
        return {(r["between"], r["method_a"], r["method_b"], r["measure"]): r for r in self.rows}


def shown(rows):
    """Return the section of some rows."""
    study = SimpleNamespace(display=lambda kind, id: id, run="training")
    return page_of("agreement", findings(rows, None), study)


class TestAnalysis:
    def test_means_are_those_of_loops(self, tmp_path):
        study = Study(tmp_path)
        found = study.run()
        of_group = {g: [i for i, e in enumerate(study.examples) if e["group"] == g] for g in GROUPS}
        for measure in MEASURES:
            between, trainings = (
                [
                    np.nanmean([
                        np.nanmean([naive(study.scores[p, a, i], study.scores[q, b, i])[measure]
                                    for p, a, q, b in pairs])
                        for i in of_group[group]
                    ])
                    for group in GROUPS
                ]
                for pairs in (
                    [(s, "one", s, "two") for s in range(4)],
                    [(p, "one", q, "one") for p, q in combinations(range(4), 2)],
                )
            )  # fmt: skip
            if measure != "sign":  # whose texts without a common token weigh differently
                row = found["methods", "one", "two", measure]
                assert [row["mean_a"], row["mean_b"]] == pytest.approx(between)
            row = found["trainings", "one", "", measure]
            assert [row["mean_a"], row["mean_b"]] == pytest.approx(trainings)
        assert {row["n_sets"] for row in study.rows if row["measure"] != "sign"} == {N_SETS}
        assert {row["verdict"] for row in study.rows if row["between"] == "trainings"} == {None}
        assert not any(not row["method_a"] for row in study.rows)  # of one pair there is no mean

    def test_a_method_and_itself_agree_and_a_planted_gap_is_found(self, tmp_path):
        study = Study(tmp_path, methods=("one", "same", "copied"))
        for seed in range(4):
            own = lambda i, e, s=seed: study.scores[s, "one", i]  # noqa: E731
            study.explain(seed, "same", own)
            study.explain(
                seed, "copied",
                lambda i, e, s=seed: study.scores[s, "one", i] + study.rng.normal(size=LENGTH)
                * (0.1 if e["group"] == GROUPS[0] else 1.5),
            )  # fmt: skip
        found = study.run()
        for measure in MEASURES:
            row = found["methods", "one", "same", measure]
            assert (row["mean_a"], row["mean_b"]) == pytest.approx((1, 1))
            assert row["flags"] == ["constant"]
            assert row["verdict"] is None
        row = found["methods", "copied", "one", "spearman"]
        assert row["mean_a"] > row["mean_b"] + 0.2
        assert (row["verdict"], row["verdict_strict"]) == ("different", "different")
        means = [found["methods", a, b, "spearman"]["mean_b"]
                 for a, b in (("copied", "one"), ("copied", "same"), ("one", "same"))]  # fmt: skip
        assert found["methods", "", "", "spearman"]["mean_b"] == pytest.approx(np.mean(means))
        rows = [{**row, "groups": GROUPS} for row in study.rows]
        (table,) = agreement_tables(rows)
        lines = table["lines"]["methods"]
        assert [line["method_a"] for line in lines] == ["", "copied", "copied", "one"]
        assert lines[1]["cells"]["spearman"][0].keys() == set(GROUPS)
        page = shown(rows)
        assert "copied and one" in page
        assert "The gap d of male − female has" in page
        assert page.count("<strong>Different</strong>") == sum(
            row["verdict"] == "different" for row in rows
        )
        assert f'<td class="r">{row["mean_a"]:.2f}</td>' in page

    def test_random_explanations_are_in_no_mean_and_unsigned_ones_have_no_sign(self, tmp_path):
        study = Study(tmp_path, methods=("one", "two", "chance"))
        for seed in range(4):
            study.explain(seed, "chance", use="uniform_random")
            study.explain(seed, "two", lambda i, e: np.abs(study.rng.normal(size=LENGTH)))
        found = study.run()
        assert ("methods", "", "", "spearman") not in found  # one pair is left
        assert ("methods", "one", "two", "sign") not in found
        assert ("methods", "chance", "one", "sign") in found
        assert ("trainings", "two", "", "sign") not in found

    def test_classifiers_of_one_class_and_other_targets_do_not_count(self, tmp_path):
        study = Study(tmp_path)
        study.predict(3, [1] * 2 * N_SETS)
        other = {"target": lambda i: int(i >= 10) if i < 12 else None}
        study.explain(1, "two", **other)
        found = study.run()
        assert found["methods", "one", "two", "spearman"]["n_seeds"] == 3
        assert found["trainings", "one", "", "spearman"]["n_seeds"] == 3
        assert "missing_cells" in found["methods", "one", "two", "spearman"]["flags"]

    def test_other_tokens_are_refused_and_words_compared_if_asked(self, tmp_path):
        study = Study(tmp_path)
        study.explain(2, "one", token_ids=lambda i: list(range(1, LENGTH + 3)))
        with pytest.raises(InputError, match=r"has other tokens .* with `unit: word`"):
            study.run()
        found = study.run(unit="word")
        row = found["methods", "one", "two", "spearman"]
        words = {key: own.reshape(-1, 2).sum(axis=1) for key, own in study.scores.items()}
        means = [
            np.mean([naive(words[s, "one", i], words[s, "two", i])["spearman"] for s in range(4)])
            for i, example in enumerate(study.examples)
            if example["group"] == GROUPS[0]
        ]
        assert (row["unit"], row["mean_a"]) == ("word", pytest.approx(np.mean(means)))

    def test_of_more_groups_the_widest_gap_is_shown(self, tmp_path):
        rows = Study(tmp_path).run().values()
        three = [
            {**row, "group_b": other, "groups": (*GROUPS, "other"), "d": d}
            for row in rows
            for other, d in (("female", 0.1), ("other", -0.7))
        ]
        page = shown(three)
        assert "−0.70 <small>male − other</small>" in page
        assert "male − female" not in page
