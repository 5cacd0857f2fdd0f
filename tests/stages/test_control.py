"""The control stage: what it reads, what it writes, what it refuses, and how long it takes."""

from __future__ import annotations

import math
import subprocess
import sys
import time

import numpy as np
import pytest

from exparity import InputError
from exparity.analyses.control import control_cells
from exparity.artefacts.files import read_artefact, write_artefact
from exparity.cli import main
from exparity.core.seeding import derive_seed
from exparity.stats import control_rates, permutation_control

CELL = {"dataset": "d", "model": "m", "seed": 3, "method": "lime", "metric": "gini"}
OPTIONS = {"alpha": 0.05, "repeats": 25, "schemes": ["within_sets", "across_rows"]}


def scores_file(folder, groups=("male", "female"), n=30, scores=None, flags=(), **ids):
    """Matched sets of one value a group, the first group's higher by one."""
    ids = {**CELL, **ids}
    rng = np.random.default_rng(derive_seed(0, *map(str, ids.values())))
    rows = [
        {
            "example_id": f"{i:03d}-{group}",
            "group": group,
            "match_id": f"{i:03d}",
            "score": float(rng.normal() + (group == groups[0])) if scores is None else scores,
        }
        for i in range(n)
        for group in groups
    ]
    path = folder / f"{ids['method']}-{ids['metric']}-{ids['seed']}.parquet"
    extra = {"groups": list(groups), "attribute": "gender", "flags": list(flags)}
    write_artefact(path, "scores", rows, ids, stage="evaluate", parameters={}, extra=extra)
    return path


@pytest.fixture
def files(tmp_path):
    return [
        scores_file(tmp_path, metric="gini"),
        scores_file(tmp_path, metric="sparsity", scores=0.1),
        scores_file(tmp_path, method="shap", flags=["rounding_noise"]),
    ]


def read(path):
    table, facts = read_artefact(path, "controls")
    return table.to_pylist(), facts


@pytest.mark.contract
class TestArtefact:
    def test_one_row_per_file_scheme_and_test(self, files, tmp_path):
        control_cells(files, tmp_path / "c.parquet", **OPTIONS)
        rows, facts = read(tmp_path / "c.parquet")
        kinds = [
            ("across_rows", "mann_whitney"),
            ("within_sets", "mann_whitney"),
            ("within_sets", "wilcoxon"),
        ]
        cells = [("lime", "gini"), ("lime", "sparsity"), ("shap", "gini")]
        found = [(r["method"], r["metric"], r["scheme"], r["test"]) for r in rows]
        assert found == [(*cell, *kind) for cell in cells for kind in kinds]
        assert {(r["dataset"], r["model"], r["seed"]) for r in rows} == {("d", "m", 3)}
        assert {(r["group_a"], r["group_b"]) for r in rows} == {("male", "female")}
        assert facts["wildcards"] == {"dataset": "d", "model": "m", "seed": 3}
        assert facts["parameters"] == OPTIONS
        assert (facts["stage"], facts["groups"]) == ("control", ["male", "female"])

    def test_rows_are_those_of_the_function(self, files, tmp_path):
        control_cells(files, tmp_path / "c.parquet", **(OPTIONS | {"alpha": 0.4}))
        rows, _ = read(tmp_path / "c.parquet")
        given = read_artefact(files[0], "scores")[0].to_pydict()
        expected = permutation_control(
            given["score"], given["group"], ["male", "female"], given["match_id"],
            alpha=0.4, repeats=25, seed=derive_seed(3, "control", "d", "m", "lime", "gini"),
        )  # fmt: skip
        by_kind = {(r.scheme, r.test): r for r in expected}
        for row in rows[:3]:
            result = by_kind[row["scheme"], row["test"]]
            assert row["n_significant"] == result.n_significant > 0
            assert row["rate"] == result.rate == row["n_significant"] / 25

    def test_files_that_cannot_be_tested_are_counted_apart(self, files, tmp_path):
        control_cells(files, tmp_path / "c.parquet", **OPTIONS)
        rows, _ = read(tmp_path / "c.parquet")
        degenerate = [row for row in rows if row["metric"] == "sparsity"]
        assert {(r["n_permutations"], r["n_significant"]) for r in degenerate} == {(0, 0)}
        assert all(math.isnan(r["rate"]) and r["flags"] == ["constant"] for r in degenerate)
        assert {tuple(r["flags"]) for r in rows[-3:]} == {("rounding_noise",)}
        for found in control_rates(rows):
            # What is rounding noise counts neither way.
            assert (found.n_results, found.n_degenerate, found.n_permutations) == (1, 1, 25)

    def test_neither_order_nor_company_of_the_files_moves_a_number(self, files, tmp_path):
        rows = []
        for i, paths in enumerate((files, files[::-1], files[:1])):
            control_cells(paths, tmp_path / f"{i}.parquet", **OPTIONS)
            rows.append([str(row) for row in read(tmp_path / f"{i}.parquet")[0]])
        assert rows[0] == rows[1]
        assert rows[0][:3] == rows[2]

    def test_three_groups(self, tmp_path):
        path = scores_file(tmp_path, groups=("c", "a", "b"))
        control_cells([path], tmp_path / "c.parquet", **OPTIONS)
        rows, _ = read(tmp_path / "c.parquet")
        pairs = {("c", "a"), ("c", "b"), ("a", "b")}
        assert {(r["group_a"], r["group_b"]) for r in rows} == {*pairs, ("", "")}
        over_all = {r["test"] for r in rows if not r["group_a"]}
        assert over_all == {"kruskal_wallis", "friedman"}
        assert len(rows) == 3 * 3 + 3


@pytest.mark.contract
class TestRefused:
    def refused(self, paths, tmp_path, message, **options):
        with pytest.raises(InputError, match=message):
            control_cells(paths, tmp_path / "out" / "c", **(OPTIONS | options))
        assert not (tmp_path / "out").exists()

    def test_another_classifier(self, files, tmp_path):
        other = scores_file(tmp_path, seed=4)
        message = r"lime-gini-4.parquet: is of seed '4', but .* is of '3'"
        self.refused([*files, other], tmp_path, message)

    def test_other_groups(self, files, tmp_path):
        other = scores_file(tmp_path, groups=("male", "other"), method="gradient")
        self.refused([*files, other], tmp_path, r"gradient-gini-3.*male, other.*male, female")

    def test_the_same_cell_twice(self, files, tmp_path):
        message = "lime-gini-3.parquet: holds gini of lime, as .*lime-gini-3"
        self.refused([*files, files[0]], tmp_path, message)

    def test_no_groups(self, tmp_path):
        path = scores_file(tmp_path, groups=("male",))
        self.refused([path], tmp_path, "names no groups to compare; make it with")

    def test_data_without_groups(self, tmp_path):
        path = scores_file(tmp_path, groups=())
        self.refused([path], tmp_path, "is of data without groups; there is nothing to compare")

    def test_infinite_scores_name_the_file(self, tmp_path):
        path = scores_file(tmp_path, scores=math.inf)
        self.refused(
            [path], tmp_path, r"lime-gini-3.parquet: example '000-female' has the score inf"
        )

    def test_no_files(self, tmp_path):
        self.refused([], tmp_path, "at least one scores artefact")

    def test_no_permutations(self, files, tmp_path):
        self.refused(files, tmp_path, "controls.permutation.repeats must be 1 or more", repeats=0)


class TestCommand:
    def run(self, capsys, *arguments):
        code = main([str(argument) for argument in arguments])
        return code, capsys.readouterr().err

    @pytest.fixture(autouse=True)
    def _logging_as_before(self):
        import logging

        root = logging.getLogger()
        handlers, level = list(root.handlers), root.level
        yield
        logging.captureWarnings(False)
        root.handlers[:] = handlers
        root.setLevel(level)

    def test_options_and_flags(self, files, tmp_path, capsys):
        code, err = self.run(
            capsys, "control", "--options", '{"settings": {"repeats": 7}, "digest": "x"}',
            "--param", "alpha=0.2", "--scores", *files, "--output", tmp_path / "c.parquet",
        )  # fmt: skip
        assert (code, err) == (0, "")
        rows, facts = read(tmp_path / "c.parquet")
        assert facts["parameters"] == {
            "alpha": 0.2,
            "repeats": 7,
            "schemes": ["within_sets", "across_rows"],
        }
        assert {r["n_permutations"] for r in rows if r["metric"] == "gini"} == {7}

    @pytest.mark.parametrize(
        ("parameter", "message"),
        [
            ("repeat=3", "controls.permutation: unknown option 'repeat'; did you mean 'repeats'"),
            ("repeats=many", "controls.permutation.repeats: a whole number, found 'many'"),
            ('schemes=["pairs"]', "schemes[0]: one of within_sets, across_rows, found 'pairs'"),
            ("seed=1", "controls.permutation: unknown option 'seed'"),
        ],
    )
    def test_bad_options(self, parameter, message, files, tmp_path, capsys):
        code, err = self.run(
            capsys, "control", "--param", parameter, "--scores", *files, "--output", tmp_path / "c"
        )
        assert code == 2
        assert message in err
        assert err.count("\n") == 1

    def test_it_imports_nothing_heavy(self, files, tmp_path):
        code = (
            "import sys; from exparity.cli import main\n"
            f"sys.argv = ['exparity', 'control', '--output', {str(tmp_path / 'c')!r}, '--scores',\n"
            f"            *{[str(path) for path in files]!r}]\n"
            "code = main()\n"
            "heavy = ('torch', 'transformers', 'pandas', 'scipy.stats')\n"
            "print(code, [name for name in heavy if name in sys.modules])"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        )
        assert done.stdout == "0 []\n", done.stderr

    def test_the_files_of_a_large_classifier_take_seconds(self, tmp_path):
        files = [
            scores_file(tmp_path, n=617, method=f"method{i}", metric=f"metric{j}")
            for i in range(6)
            for j in range(7)
        ]
        start = time.process_time()
        control_cells(files, tmp_path / "c.parquet", **OPTIONS)
        assert time.process_time() - start < 8  # about one
        rows, _ = read(tmp_path / "c.parquet")
        for found in control_rates(rows):
            # 42 files with 25 permutations each: 1,050, a standard error of 0.7 points
            assert found.rate == pytest.approx(0.05, abs=0.025), found
