"""A flipped bit of what ``compare``, ``show`` and ``plan`` read is found, or changes nothing."""

from __future__ import annotations

import contextlib
import io
import random
import shutil

import pytest
from made_up import config, make_study, options_of

from exparity.artefacts.files import write_artefact
from exparity.artefacts.grid import grid_text
from exparity.core.errors import InputError
from exparity.costs.finished import as_number, read_benchmark, read_finished
from exparity.stages.report import report
from exparity.tools.compare import compare
from exparity.tools.cost import cost
from exparity.tools.show import show

SETTINGS = {
    **config(datasets=1, models=1, seeds=2, methods=2, metrics=2),
    "report": {"figures": False},
}
EPOCH = {
    "epoch": 1, "step": 9, "learning_rate": 1e-3, "train_loss": 0.5, "train_accuracy": 0.9,
    "validation_loss": 0.5, "validation_accuracy": 0.9, "seconds": 2.0,
}  # fmt: skip
COLUMNS = "s h:m:s max_rss max_vms max_uss max_pss io_in io_out mean_load cpu_time"
VALUES = "1.76 0:00:01 332.92 2060.30 37.54 109.26 0.01 0.00 3.56 0.09"


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """The folders of two equal, finished runs."""
    first = tmp_path_factory.mktemp("flips") / "first"
    make_study(first, SETTINGS, pairs=8)
    (first / "grid.json").write_text(grid_text(options_of(SETTINGS)), encoding="utf-8")
    for place in (first / "predictions").rglob("*.parquet"):
        history = first / "models" / place.relative_to(first / "predictions").with_suffix("")
        ids = {"dataset": place.parts[-3], "model": place.parts[-2], "seed": int(place.stem)}
        write_artefact(
            history / "history.parquet", "history", [EPOCH], ids, stage="finetune", parameters={}
        )
    cost(first)
    report(first, first / "report" / "index.html", options_of(SETTINGS))
    return first, shutil.copytree(first, first.with_name("second"))


def printed(command, *args, **options):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        command(*args, **options)
    return out.getvalue()


def compared(first, second):
    return printed(compare, first, second, every=True)


def shown(first, second):
    return printed(show, second)


def planned(first, second):
    """What ``plan`` reads of a results folder; it names the files that it leaves out."""
    finished = read_finished(second)
    if finished.odd:
        raise InputError("; ".join(finished.odd))
    return str(finished.jobs)


def flipped(content, place, bit):
    return content[:place] + bytes([content[place] ^ 1 << bit]) + content[place + 1 :]


READERS = (compared, shown, planned)


def read_by_them(folder):
    return sorted(path for path in folder.rglob("*") if path.suffix in (".parquet", ".json"))


def silent(pair, n_flips, *, only=None, seed=10):
    """Return the flips of a bit that change what is read, without an error that names the file."""
    first, second = pair
    expected = [reader(first, second) for reader in READERS]
    assert expected == [reader(first, second) for reader in READERS]
    files = [second / only] if only else read_by_them(second)
    rng = random.Random(seed)
    missed = []
    for _ in range(n_flips):
        path = rng.choice(files)
        intact = path.read_bytes()
        place, bit = rng.randrange(len(intact)), rng.randrange(8)
        path.write_bytes(intact[:place] + bytes([intact[place] ^ 1 << bit]) + intact[place + 1 :])
        for reader, content in zip(READERS, expected, strict=True):
            try:
                changed = reader(first, second) != content
            except InputError as error:
                changed = str(path) not in str(error)
            if changed:
                missed.append((reader.__name__, str(path.relative_to(second)), place, bit))
        path.write_bytes(intact)
    return missed


def test_d10_flips_of_the_grid_are_found(pair):
    """D10: 51 of 150 were taken as other settings."""
    assert silent(pair, 25, only="grid.json") == []


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in range(1, 40))]
)
def test_d10_flips_of_any_file_are_found(pair, seed):
    """D10: 1,000 flips, of which a part always runs."""
    assert silent(pair, 25, seed=seed) == []


def test_d10_flips_of_a_benchmark_are_no_traceback(tmp_path):
    """Snakemake writes these without a seal: they say what a job took, and nothing of results."""
    path = tmp_path / "gini.tsv"
    content = "\n".join("\t".join(line.split()) for line in (COLUMNS, VALUES)).encode()
    for place in range(len(content)):
        for bit in range(8):
            path.write_bytes(flipped(content, place, bit))
            with contextlib.suppress(ValueError):  # is named among the files that are left out
                assert as_number(read_benchmark(path)["s"]) >= 0
