"""What tells a job's results from others: its inputs, by flags and by options."""

import json
from pathlib import Path

import pytest

from exparity import cli
from exparity.artefacts.analyses import ANALYSES, shortcuts_of
from exparity.artefacts.analyses import inputs_of as inputs_of_analysis
from exparity.artefacts.grid import Grid
from exparity.artefacts.lineage import identity, lineage
from exparity.config.experiment import Experiment
from exparity.core.command_line import command_of
from exparity.jobs.inputs import job_inputs, lineage_of

COMPARE = "compare-groups --data d --predictions p --output o --across-trainings a --levels l"
FUNCTION = '{"model": {"predict": "own.py:f", "classes": ["a", "b"]}}'
ADAPTED = '{"model": {"checkpoint": "start", "adapter": "lora"}}'
JOBS = (
    """
prepare --output o : {"use": "table", "params": {"path": "own.csv"}} : own.csv
finetune --data d --output o --predictions p : {"model": {"checkpoint": "start"}} : d start
finetune --data d --output o --predictions p : {FUNCTION} : d own.py
finetune --data d --output o --predictions p : {ADAPTED} : d start lora
explain --data d --checkpoint c --predictions p --output o : {IMPORTED} : d p own.csv
evaluate --data d --checkpoint c --explanations e --output o : {"use": "gini"} : d e
{COMPARE} --scores s t --random-scores r : {"statistics": {}} : d p s t r
{COMPARE} --scores s --random-scores : {"statistics": {}} : d p s
bias --data d --predictions p --output o : {} : d p
correctness --scores s t --predictions p --output o : {} : s t p
attribution-difference --data d --explanations e f --output o : {} : d e f
dataset-bias --data d --output o : {} : d
negative-control --data d --checkpoint c --predictions p --output o : {} : d c p
negative-control --data d --checkpoint c --predictions p --output o --removal-limits l : {} : d c p
mlm-score --data d --checkpoint c --output o : {} : d c
""".replace("{COMPARE}", COMPARE)
    .replace("{FUNCTION}", FUNCTION)
    .replace("{IMPORTED}", '{"use": "imported", "params": {"path": "own.csv"}}')
    .replace("{ADAPTED}", ADAPTED)
)


@pytest.fixture(autouse=True)
def _start(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("start").mkdir()
    Path("lora").mkdir()
    Path("own.csv").touch()
    Path("own.py").touch()


def call_of(flags, options=None):
    name, *rest = flags.split()
    more = [] if options is None else ["--options", options]
    return cli.known_commands()[name].parse([*rest, *more])


@pytest.mark.parametrize("job", JOBS.strip().splitlines())
def test_what_a_job_reads_identifies_it(job):
    flags, options, read = (part.strip() for part in job.split(" : "))
    call = call_of(flags, options)
    assert sorted(job_inputs(call)) == sorted(map(Path, read.split()))
    identities = map(identity, map(Path, read.split()))
    assert lineage_of(call) == lineage(json.loads(options), identities)


def test_the_report_reads_what_the_grid_holds():
    grid = Grid(pairs=[("d", "m")], seeds=[0], analyses={"bias": [("d", "m")]})
    options = grid.as_json()
    call = call_of("report --page r/report/p.html", json.dumps(options))
    assert Path("r/bias/d/m.parquet") in list(job_inputs(call))


@pytest.mark.parametrize("options", ["{}", '{"pairs": 5}'])
def test_a_report_without_its_options_is_not_identified(options):
    assert list(job_inputs(call_of("report --page r/p", options))) == []


@pytest.mark.parametrize(
    "flag", ["--use lime", "--param n=1", "--target label", "--max-examples 2"]
)
def test_only_what_the_workflow_runs_and_no_flag_overrides_has_a_key(flag):
    options = json.dumps({"use": "lime", "params": {}, "target": "label", "max_examples": None})
    flags = "explain --data d --checkpoint c --predictions p --output o --device cpu"
    assert lineage_of(call_of(flags, options))
    assert not lineage_of(call_of(f"{flags} {flag}", options))
    assert not lineage_of(call_of(f"{flags} --use lime"))


@pytest.mark.contract
@pytest.mark.parametrize("id", ANALYSES.ids())
def test_what_the_workflow_says_of_an_analysis_its_command_takes(id):
    """Whatever an analysis reads: its key must equal that of the config, or it is made each run."""
    inputs = inputs_of_analysis(ANALYSES.get(id).function)
    paths = {name: ["a", "b"] if several else "a" for name, several in inputs.items()}
    ids = {"model": "m", "seed": 1, "metric": "k", "threads": 2}
    outputs = [f"o{i}" for i, _ in enumerate(ANALYSES.get(id).facts.writes)]
    flags = Experiment.flags(None, id, paths, outputs, ids)
    options = json.dumps({"digest": "0"})
    command = cli.known_commands()[command_of(id)]
    call = command.parse([*flags, "--options", options])
    assert sorted(call.outputs()) == sorted(map(Path, outputs))
    assert not call.overrides()
    shortcuts = shortcuts_of(ANALYSES.get(id).function)
    expected = [Path(p) for name, one in paths.items() if name not in shortcuts for p in one]
    assert sorted(job_inputs(call)) == sorted(expected)
