"""What of Snakemake a run uses, and what a submission that runs once more makes."""

import re
import resource
from types import SimpleNamespace

import pytest
from support import TINY

from exparity.cli import main
from exparity.config.experiment import Experiment
from exparity.runs import begin


@pytest.mark.contract
def test_nothing_private_of_snakemake_is_used(repository):
    files = [*(repository / "workflow").rglob("*.smk"), *(repository / "src").glob("**/runs/*.py")]
    own = re.compile(r"\b(?!self\b|os\b)(\w+)\._[a-z]\w*")
    assert not [match for path in files for match in own.findall(path.read_text())]


@pytest.fixture
def submission(monkeypatch):
    """Of Snakemake's workflow what a submission has that is sent for the second time."""
    finished = {"a", "b"}
    monkeypatch.setattr(begin, "up_to_date", lambda experiment, output: output & finished)
    return SimpleNamespace(
        remote_exec=True,
        execution_settings=SimpleNamespace(attempt=2),
        dag=SimpleNamespace(forcefiles=set()),
    )


@pytest.mark.parametrize(
    ("attempt", "requeued", "forced"),
    [(1, False, {*"abcd"}), (2, False, {*"bcd"}), (1, True, {*"bcd"})],
)
def test_jobs_that_an_earlier_attempt_has_finished_are_not_forced(
    submission, attempt, requeued, forced, monkeypatch
):
    submission.execution_settings.attempt = attempt
    monkeypatch.delenv("SLURM_RESTART_COUNT", raising=False)
    if requeued:
        monkeypatch.setenv("SLURM_RESTART_COUNT", "1")
    begin.before_plan(submission, None)
    for output in (["a"], ["b", "c"], ["d"]):
        submission.dag.forcefiles.update(output)
    assert submission.dag.forcefiles == forced


def test_a_submission_goes_on_after_a_job_that_fails(submission):
    begin.before_plan(submission, None)
    assert submission.execution_settings.keep_going is True


@pytest.mark.parametrize(
    ("limit", "refused"),
    [(resource.RLIM_INFINITY, False), (1024 * 1_400_000, True), (1024 * 2_000_000, False)],
)
def test_too_little_address_space_is_refused_before_torch_is_imported(
    limit, refused, submission, monkeypatch, capsys
):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, resource.RLIM_INFINITY))
    if not refused:
        begin.before_plan(submission, None)
        return
    with pytest.raises(SystemExit) as ended:
        begin.before_plan(submission, None)
    assert ended.value.code == 2
    line = capsys.readouterr().err
    assert line.startswith("exparity: ulimit -v: 1400000 kB of address space are too few")
    assert line.count("\n") == 1


@pytest.mark.parametrize(
    ("remote", "job"),
    [(False, "exparity.cli:run_and_stay_if_small"), (True, "exparity.cli:run_and_stay")],
)
def test_a_server_is_started_for_jobs_whose_ids_snakemake_has(remote, job, monkeypatch):
    """Snakemake's wildcards are a plain dictionary."""
    ids = {"dataset": "pairs_all", "model": "bert_tiny", "seed": "0", "method": "gradient"}
    metrics = [{**ids, "metric": metric} for metric in ("comprehensiveness", "gini")]
    jobs = [
        SimpleNamespace(rule=SimpleNamespace(name="evaluate"), wildcards_dict=wildcards)
        for wildcards in metrics
    ]
    targets = [
        SimpleNamespace(rulename="evaluate", wildcards_dict=wildcards) for wildcards in metrics
    ]
    workflow = SimpleNamespace(
        dag_settings=SimpleNamespace(target_jobs=targets if remote else ()),
        dag=SimpleNamespace(needrun_jobs=lambda: jobs),
        remote_exec=remote,
        local_exec=not remote,
        is_main_process=not remote,
        dryrun=False,
    )
    started = []
    monkeypatch.setattr(begin, "start_server", lambda *arguments: started.append(arguments))
    begin.before_jobs(workflow, Experiment.from_mapping(TINY))
    assert [target for target, _ in started] == [job]


@pytest.mark.parametrize(("heads", "is_built"), [(2, True), (3, False)])
def test_a_job_says_whether_models_can_be_built(heads, is_built, monkeypatch):
    def in_this_process(command, **_):
        return SimpleNamespace(returncode=main(command[1:]))

    monkeypatch.setattr(begin.subprocess, "run", in_this_process)
    size = {"hidden_size": 8, "num_attention_heads": heads}
    config = {**TINY, "models": {"tiny": {"init": "scratch", "architecture": "bert", "size": size}}}
    spec = Experiment.from_mapping(config).models["tiny"].spec
    assert begin._is_buildable_in_a_job({"tiny": spec.all_values}) == is_built


def test_without_a_script_or_room_for_them_models_are_built_here(tmp_path, monkeypatch):
    monkeypatch.setattr(begin.sys, "executable", "/nowhere/python3")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not begin._is_buildable_in_a_job({})
    script = tmp_path / "exparity"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    assert begin._is_buildable_in_a_job({})
    assert not begin._is_buildable_in_a_job({"many": "x" * 200_000})


@pytest.mark.parametrize("checks_first", [True, False])
def test_a_process_that_asks_for_a_plan_alone_checks_nothing_again(checks_first, monkeypatch):
    checked = []
    monkeypatch.setattr(begin, "check_before_jobs", checked.append)
    monkeypatch.setattr(begin, "checks_first", checks_first)
    workflow = SimpleNamespace(
        remote_exec=False,
        is_main_process=True,
        executor_plugin=None,
        dryrun=True,
        dag=SimpleNamespace(forcefiles=set()),
        iocache=SimpleNamespace(mtime={}),
    )
    experiment = Experiment.from_mapping(TINY)
    begin.before_plan(workflow, experiment)
    assert checked == [experiment] * checks_first
