"""Killed runs: the same command again completes, with the table of an undisturbed run."""

import io
import os
import random
import re
import shlex
import signal
import subprocess
import sys
from contextlib import suppress
from glob import glob
from pathlib import Path

import psutil
import pyarrow.parquet as pq
import pytest
from data.tables import rows_of, write
from held import held
from support import GENDER_PROMPT, LLAMA, TINY, is_gone, wait_until
from workflow.conftest import copy_checkout

import exparity
from workflow import forked

pytestmark = pytest.mark.workflow
CELL = "pairs_all/bert_tiny/0"
STAGES = {
    "prepare": "data/pairs_all.parquet",
    "finetune": f"models/{CELL}",
    "explain": f"explanations/{CELL}/gradient.parquet",
    "evaluate": f"scores/{CELL}/gradient/comprehensiveness.parquet",
    "compare-groups": f"tests/{CELL.rpartition('/')[0]}.parquet",
    "report": "report/index.html",
}
"""What each stage makes; a job that is held there has done its work, and nothing shows of it."""
# Of the baseline's grid, one cell that runs the model in every stage that may.
ONE_CELL = {"methods": {"gradient": {}}, "metrics": {"comprehensiveness": {}}}
# A function, and a language model that answers with words.
TWO_KINDS = {
    "models": {
        "box": {"predict": "box.py:predict", "classes": ["female", "male"]},
        "llama": LLAMA,
    },
    "prompts": {"pairs_all": GENDER_PROMPT},
    "methods": {"occlusion": {}},
    "metrics": {"loo_correlation": {}},
    "controls": {"random": {"draws": 1}},
}
# And a classifier that is trained, with whatever a run makes beside.
MORE_KINDS = {
    **TWO_KINDS,
    "models": {**TINY["models"], **TWO_KINDS["models"]},
    "methods": {"occlusion": {}, "lime": {"num_samples": 8}},
    "metrics": {"loo_correlation": {}, "comprehensiveness": {}, "forward_simulation": {}},
}
# Every way to ask whether explanations are good.
WITNESSES = {
    "metrics": {
        "forward_simulation": {}, "comprehensiveness": {}, "communication": {}, "mass_accuracy": {}
    },
    "controls": {"reference": {"enabled": True, "stages": 2}},
    "analyses": {"remedies": {}},
}  # fmt: skip
# People of two ages who marked words of the same texts.
RATED = {
    "datasets": {
        "own": {
            "use": "table",
            "path": "own.jsonl",
            "id": "id",
            "rationale": "why",
            "groups": [],
            "raters": {"path": "raters.csv", "groups": ["age"], "label": "said"},
        }
    },
    "training": {**TINY["training"], "epochs": 12, "learning_rate": 0.01},
    "metrics": {"rationale_auprc": {}, "mass_accuracy": {}},
    "analyses": {"whose_rationale": {"agreeing": True}},
}
# Explainers of other libraries on enough texts for several parts of the slow ones.
PACKAGES = {
    "datasets": {"pairs_all": {"n_pairs": 100}},
    "training": {**TINY["training"], "epochs": 1},
    "methods": {
        "shap_package": {
            "algorithm": "KernelExplainer", "options": {"nsamples": 16, "l1_reg": 0}
        },
        "lime_package": {"options": {"num_samples": 8}},
        "captum": {"algorithm": "ShapleyValueSampling", "options": {"n_samples": 2}},
    },
    "metrics": {"gini": {}},
    "controls": {"random": {"draws": 0}},
}  # fmt: skip
BOX = """
import zlib
import numpy as np


def predict(texts):
    sums = np.array([sum(zlib.crc32(word.encode()) % 9 for word in t.split()) for t in texts])
    male = 0.1 + 0.8 * (sums % 17) / 17
    return np.column_stack([1 - male, male])
"""
VERBS = ("breaks", "works")
MEASURED = {"seconds", "model_seconds", "work_seconds", "cpu_seconds", "max_rss_mb", "bytes"}
"""Columns of what a run has taken."""


def write_own_files(folder: Path) -> None:
    """Write what a config may name: a function, and texts of a table with words that are marked."""
    (folder / "box.py").write_text(BOX)
    texts = rows_of(
        60,
        id=lambda i: f"t{i}",
        text=lambda i: ["the", ["plain", "fine"][i % 3 > 0], "tool", str(i), VERBS[i % 2]],
        label=(0, 1),
        why=[[0, 0, 0, 0, 1]],
    )
    write(folder / "own.jsonl", texts)
    marked = ([0, 0, 0, 0, 1], [0, 1, 1, 0, 0], [0, 1, 0, 0, 1])
    answers = rows_of(
        240,
        id=lambda i: f"t{i // 4}",
        rater=lambda i: f"{i % 4}-{i // 48}",
        age=("old", "old", "young", "young"),
        rationale=lambda i: list(marked[(i + i // 7) % 3]),
        said=lambda i: str(i // 4 % 2),
    )
    write(folder / "raters.csv", answers)


def jobs_of(run: forked.Run, stage: str) -> list[psutil.Process]:
    """Jobs of a stage that a run has running, and no other process."""
    found = []
    for process in psutil.Process(run.pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            line = process.cmdline()
            if stage in line and any(part.endswith("exparity") for part in line):
                found.append(process)
    return found


def tables(checkout, artefact: str) -> dict[str, bytes]:
    """Content of every file of an artefact, without what it took to make it."""
    found = {}
    for path in sorted((checkout.results / artefact).rglob("*.parquet")):
        table = pq.read_table(path).replace_schema_metadata(None)
        table = table.drop_columns([name for name in table.column_names if name in MEASURED])
        sink = io.BytesIO()
        pq.write_table(table, sink)
        found[str(path.relative_to(checkout.results))] = sink.getvalue()
    return found


def weights_of(checkout) -> bytes:
    return (checkout.results / f"models/{CELL}/model.safetensors").read_bytes()


def assert_made_as_in(baseline, checkout):
    (path, table), *others = tables(checkout, "scores").items()
    assert table == tables(baseline, "scores")[path]
    assert not others
    ours, theirs = (exparity.read_results(one.results, "tests") for one in (checkout, baseline))
    shared = theirs["method"].isin(ours["method"]) & theirs["metric"].isin(ours["metric"])
    assert ours.astype(str).equals(theirs[shared].reset_index(drop=True).astype(str))


@pytest.mark.parametrize(
    ("of_jobs", "of_runs"),
    [
        (("compare-groups",), ("explain",)),
        pytest.param(tuple(STAGES), tuple(STAGES), marks=pytest.mark.exhaustive),
    ],
    ids=["two", "all"],
)
def test_kill_everything_and_a_job_and_snakemake_at_some_stages(
    checkout, baseline, of_jobs, of_runs
):
    """One run after the other loses a job, or dies, and the one after that meets its jobs."""
    checkout.configure(**ONE_CELL)
    state = checkout.results / f"models/{CELL}.state"
    for stage, place in STAGES.items():
        if stage == "finetune":
            with held("epoch-0002") as job:
                run = checkout.start()
                job.wait(run)
                run.kill_all()
            assert state.exists()
        if stage in of_jobs:
            with held(place) as job:
                run = checkout.start()
                job.wait(run)
                jobs_of(run, stage)[0].kill()
                assert run.wait(timeout=300) != 0, stage
        if stage in of_runs:
            with held(place) as job:
                run = checkout.start()
                job.wait(run)
                run.kill()
                run.wait(timeout=60)
        if stage == "explain" and "finetune" not in of_jobs:
            log = (checkout.results / f"logs/finetune/{CELL}.log").read_text()
            assert "continuing after epoch" in log
            assert not state.exists()
    checkout.snakemake()
    assert weights_of(checkout) == weights_of(baseline)
    assert_made_as_in(baseline, checkout)
    assert checkout.plan() == {}
    # Neither what a job had written when it was killed, nor the state of a training.
    assert not [p for p in checkout.results.rglob("*") if p.name.endswith((".tmp", ".state"))]


@pytest.mark.exhaustive
def test_explainers_of_packages_go_on_from_their_parts(checkout, repository, tmp_path):
    """All is killed before one of them keeps its result, and two of them their second parts."""
    undisturbed = copy_checkout(repository, tmp_path / "undisturbed")
    for copy in (undisturbed, checkout):
        copy.configure(**PACKAGES)
    undisturbed.snakemake("--until", "evaluate")
    places = {name: f"results/explanations/{CELL}/{name}.parquet" for name in PACKAGES["methods"]}
    whole = places.pop("captum")
    with held(whole) as job:
        run = checkout.start("--cores", "2", whole)
        job.wait(run)
        run.kill_all()
    first_parts = [checkout.root / f"{place}.parts" / "00000.part" for place in places.values()]
    with held("00001.part") as job:
        run = checkout.start("--cores", "2", *places.values())
        job.wait(run)
        wait_until(lambda: all(path.exists() for path in first_parts), 600)
        run.kill_all()
    assert not list((checkout.results / "explanations").rglob("*.parquet"))
    checkout.snakemake("--until", "evaluate")
    for name in places:
        log = (checkout.results / f"logs/explain/{CELL}/{name}.log").read_text()
        assert "examples are taken over from an earlier run" in log
    for artefact in ("explanations", "scores"):
        assert tables(checkout, artefact) == tables(undisturbed, artefact)


def page_of(checkout) -> str:
    """The page without what the run has taken, and the key of its inputs, which say it as well."""
    page = (checkout.results / "report/index.html").read_text()
    page = re.sub(r'<section id="cost".*?</section>', "", page, flags=re.DOTALL)
    return re.sub(r'<meta name="exparity-lineage".*?>', "", page)


def files_of_models(checkout) -> dict[str, bytes]:
    """Weights, tokenizers and configurations of all models."""
    folder = checkout.results / "models"
    paths = [*folder.rglob("*.safetensors"), *folder.rglob("*.json")]
    return {str(p.relative_to(folder)): p.read_bytes() for p in paths if p.name != "exparity.json"}


def finished_tables(checkout) -> set[str]:
    # Path.rglob fails where a folder goes meanwhile.
    return set(glob("**/*.parquet", root_dir=checkout.results, recursive=True))


def end_at_random(checkout, draw: random.Random, end: str, most: int) -> None:
    """Start a run, and end it a moment after it has made some tables more, at most so many."""
    before = finished_tables(checkout)
    enough = draw.randint(0, most)
    run = checkout.start()
    wait_until(lambda: os.getpgid(run.pid) == run.pid)  # it leads the group of its jobs
    wait_until(
        lambda: len(finished_tables(checkout) - before) >= enough or run.poll() is not None,
        pause=0.05,
    )
    with suppress(subprocess.TimeoutExpired):
        run.wait(timeout=draw.uniform(0, 0.3))
    assert run.poll() is None, "it ended by itself"
    if end == "KILL":
        run.kill_all()
    elif end == "TERM":
        os.kill(run.pid, signal.SIGTERM)
    else:
        os.killpg(run.pid, signal.SIGINT)
    run.wait(timeout=120)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("kills", "ends", "kinds"),
    [
        (3, ("KILL", "TERM", "INT"), TWO_KINDS),
        (20, ("KILL", "TERM", "INT"), MORE_KINDS),
        (2, ("KILL",), WITNESSES),
        (2, ("KILL",), RATED),
    ],
    ids=["3", "20", "witnesses", "raters"],
)
def test_a_run_that_is_ended_at_random_makes_what_an_undisturbed_one_makes(
    checkout, repository, tmp_path, kills, ends, kinds
):
    """Tables, weights and page, whether it is killed or told to end."""
    undisturbed = copy_checkout(repository, tmp_path / "undisturbed")
    for copy in (undisturbed, checkout):
        copy.configure(**kinds)
        write_own_files(copy.root)
    undisturbed.snakemake()
    expected = tables(undisturbed, "")
    draw = random.Random(kills)
    for i in range(kills):
        most = len(expected) // (2 * kills)
        end_at_random(checkout, draw, ends[i % len(ends)], most)
    checkout.snakemake()
    ours = tables(checkout, "")
    assert list(ours) == list(expected)
    assert [path for path in ours if ours[path] != expected[path]] == []
    assert files_of_models(checkout) == files_of_models(undisturbed)
    assert page_of(checkout) == page_of(undisturbed)
    names_raters = 'groups of raters <a href="#whose_rationale">are</a>' in page_of(checkout)
    assert names_raters == ("whose_rationale" in kinds.get("analyses", {}))
    assert not [p for p in checkout.results.rglob("*") if p.name.endswith((".tmp", ".state"))]


def assert_ended_with_one_line(run, number, news) -> None:
    assert run.wait(timeout=120) == 128 + number
    said = news.read_text()
    assert said.count("exparity: stopped; finished jobs and parts of jobs stay") == 1
    for word in ("Error", "Traceback", "KeyboardInterrupt", "start anew", "--options"):
        assert word not in said


@pytest.mark.parametrize(
    ("number", "send"),
    [
        (signal.SIGINT, os.killpg),
        pytest.param(signal.SIGINT, os.kill, marks=pytest.mark.exhaustive),
        pytest.param(signal.SIGTERM, os.kill, marks=pytest.mark.exhaustive),
    ],
    ids=["ctrl-c", "INT", "TERM"],
)
def test_a_signal_ends_a_run_and_its_jobs_with_one_line(checkout, tmp_path, number, send):
    """In a shell with an activated environment, as in the README, whose jobs do not start anew."""
    news = tmp_path / "news.txt"
    script = Path(sys.prefix, "bin", "activate")
    activate = f"source {script}" if script.is_file() else "export PS1='(env) $ '"
    snakemake = shlex.join(checkout.command("--until", "finetune"))
    with held(f"models/{CELL}") as job, news.open("w") as file:
        run = subprocess.Popen(
            ["bash", "-c", f"{activate}; exec {snakemake}"],
            cwd=checkout.root,
            env=checkout.environment,
            stdout=file,
            stderr=file,
            start_new_session=True,
            # A shell that starts the tests in the background has them ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        job.wait(run)
        started = psutil.Process(run.pid).children(recursive=True)
        send(run.pid, number)
        assert_ended_with_one_line(run, number, news)
        assert all(map(is_gone, started))  # the server too


@pytest.mark.parametrize(
    "number", [pytest.param(signal.SIGINT, marks=pytest.mark.exhaustive), signal.SIGTERM]
)
def test_a_signal_ends_a_run_that_plans_with_one_line(checkout, tmp_path, number):
    (checkout.root / "slow.py").write_text("open('waits', 'w'); import time; time.sleep(600)")
    checkout.configure(plugins=["slow.py"])
    news = tmp_path / "news.txt"
    arguments = checkout.command()[3:]
    run = forked.start(arguments, checkout.root, checkout.environment, news, news)
    wait_until((checkout.root / "waits").exists)
    os.kill(run.pid, number)
    assert_ended_with_one_line(run, number, news)


def test_two_runs_in_one_folder_or_into_one(checkout, tmp_path):
    """The second is refused, also from elsewhere, through a link to the results."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "results").symlink_to(checkout.results)
    with held(f"models/{CELL}") as job:
        run = checkout.start("--until", "finetune")
        try:
            job.wait(run)
            second = checkout.snakemake(check=2)
            assert f"another run is using this folder (process {run.pid}" in second.stderr
            second = checkout.snakemake("--directory", str(elsewhere), check=2)
            line = f"another run is using the results folder results (process {run.pid}"
            assert line in second.stderr
            job.release()
            assert run.wait(timeout=300) == 0
        finally:
            if run.poll() is None:
                run.kill_all()
    assert len(exparity.read_results(checkout.results, "predictions")) == 16
