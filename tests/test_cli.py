"""The command line: help, exit codes, one clear line on bad input, and light start-up."""

import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from compared import beside
from made_up import Results, keys_of
from support import run_code

from exparity import cli
from exparity.artefacts.analyses import ANALYSES
from exparity.core.command_line import command_of, plain
from exparity.jobs.stop import Stopped
from exparity.quantities import scores as stage


def process(*arguments, **options):
    return subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, **options
    )


@pytest.mark.contract
class TestHelp:
    def test_of_the_whole_lists_every_command(self, run):
        code, out, _ = run("--help")
        assert code == 0
        listed = out[out.index("start here:") :]
        lines = dict(re.findall(r"^  ([a-z][a-z-]+) +(\S.*)", listed, re.M))
        assert lines.keys() == cli.known_commands().keys()
        for id in ANALYSES.ids():
            assert lines[command_of(id)] == plain(ANALYSES.get(id).summary)
        assert re.findall(r"^([a-z].*?)[:,]", listed, re.M) == [
            "start here", "after a run", "stages", "analyses",
        ]  # fmt: skip
        assert "``" not in out

    def test_a_path_may_come_first(self, refused, tmp_path):
        assert "my.yaml: cannot be read" in refused("plan", tmp_path / "my.yaml", "--device", "cpu")
        assert "gone: no such folder" in refused("cost", tmp_path / "gone")

    @pytest.mark.parametrize("command", sorted(cli.known_commands()))
    def test_of_a_command_lists_every_option(self, command, run):
        code, out, _ = run(command, "--help")
        assert code == 0
        for action in cli.known_commands()[command].parser()._actions:
            assert action.help or action.choices, action.dest
            for flag in action.option_strings:
                assert flag in out

    def test_the_version_is_printed(self, run):
        import exparity

        assert run("--version")[:2] == (0, f"exparity {exparity.__version__}\n")

    def test_a_shell_completes_commands_flags_and_choices(self, run, tmp_path):
        code, script, _ = run("--print-completion", "bash")
        assert code == 0
        (tmp_path / "completion").write_text(script)
        ask = (
            "source completion; COMP_WORDS=($1 ''); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n"
            '_shtab_exparity; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        for line, words in (
            ("exparity", set(cli.known_commands())),
            ("exparity plan --device", {"cpu", "cuda"}),
            ("exparity list", {"datasets", "methods", "metrics"}),
        ):
            answer = subprocess.run(
                ["bash", "-c", ask, "bash", line], cwd=tmp_path, capture_output=True, text=True
            )
            assert words <= set(answer.stdout.split()), answer.stderr

    @pytest.mark.parametrize(
        ("arguments", "hint"),
        [
            ([], "name a command: `exparity --help` lists them"),
            (["explian"], "there is no command 'explian'; did you mean 'explain'"),
            (["mlm-scores"], "there is no command 'mlm-scores'; did you mean 'mlm-score'"),
            (["--verison"], "there is no flag --verison; did you mean '--version'"),
        ],
    )
    def test_what_is_mistyped_is_answered_with_the_nearest(self, arguments, hint, refused):
        assert hint in refused(*arguments)


class TestList:
    def test_a_list_has_every_kind_of_part(self, run):
        code, out, _ = run("list")
        assert code == 0
        for word in ("datasets", "methods", "metrics", "  pairs_all", "  label_words", "  gini ↑"):
            assert f"\n{word}" in f"\n{out}"
        assert "  sufficiency ↓" in out
        assert 'options: normalise_over="content", tau=0.1' in out
        assert "Hurley and Rickard 2009" in out

    def test_an_analysis_of_a_plugin_is_a_command(self, run, tmp_path):
        path = tmp_path / "mine.py"
        path.write_text(
            "from pathlib import Path\n"
            "from exparity.analyses import Table, analysis\n"
            "@analysis('my_own', level='dataset', reads=('data',),\n"
            "          writes={'mine': Table(keys=())})\n"
            "def my_own(data: Path, output: Path, *, power: int = 2) -> None:\n"
            "    'Do my own.'\n"
            "    print(data, output, power)\n"
        )
        command = ["-m", "exparity", "my-own", "--data", "d", "--output", "o", "--power", 3]
        done = process(*command, "--plugins", path)
        assert (done.stdout, done.stderr) == ("d o 3\n", "")
        settings = ["--options", '{"power": 4}']
        done = process(*command[:-2], *settings, env={**os.environ, "EXPARITY_PLUGINS": str(path)})
        assert (done.stdout, done.stderr) == ("d o 4\n", "")
        assert "there is no command 'my-own'" in run("my-own")[2]

    def test_a_closed_pipe_is_no_error(self):
        command = f"{sys.executable} -m exparity list | head -n 1"
        done = subprocess.run(command, shell=True, capture_output=True, text=True)
        assert (done.stdout, done.stderr) == ("datasets\n", "")


def test_a_folder_that_cannot_be_written(run, tmp_path):
    (tmp_path / "file").write_text("")
    output = tmp_path / "file" / "d.parquet"
    code, out, err = run(
        "prepare", "--use", "pairs_all", "--param", "n_pairs=20", "--output", output
    )
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert str(tmp_path / "file") in err


def test_the_environment_settles_where_files_lie_and_downloads_none(refused, tmp_path, monkeypatch):
    monkeypatch.setenv("EXPARITY_DATA_DIR", str(tmp_path / "raw"))
    monkeypatch.setenv("EXPARITY_DOWNLOAD", "0")
    line = refused("prepare", "--use", "geco_all", "--output", tmp_path / "d.parquet")
    assert f"{tmp_path / 'raw'}/geco/binary_gender_all/train.jsonl is missing" in line


def comparing(folder):
    """A command that compares the groups of one scores artefact, and the tests that it writes."""
    keys = keys_of(40)
    values = np.random.default_rng(0).normal(size=len(keys))
    scores = Results(folder).write_scores(keys, values, "d", "m", 3, "lime", "gini")
    data, (predictions,) = beside(folder, [scores])
    output = folder / "t.parquet"
    command = ["compare-groups", "--data", data, "--predictions", predictions, "--scores", scores]
    command += ["--output", output, "--across-trainings", folder / "a.parquet"]
    command += ["--levels", folder / "l.parquet"]
    return [str(word) for word in command], output


class TestCompareGroups:
    def test_by_hand_it_says_what_it_wrote(self, tmp_path, capsys):
        command, output = comparing(tmp_path)
        for more, lines in (([], 1), (["--options", '{"statistics": {}}'], 0)):
            assert cli.main([*command, *more]) == 0
            assert len(re.findall(rf"INFO wrote {output} in \d", capsys.readouterr().err)) == lines

    def test_an_interrupt_is_one_line(self, run, tmp_path, monkeypatch):
        def stop(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr(stage, "read_all", stop)
        result = run(*comparing(tmp_path)[0])
        assert result == (130, "", "exparity: interrupted\n")

    @pytest.mark.parametrize(("kept", "text"), [(None, ""), (96, "96 of 644 examples are kept, ")])
    def test_a_term_is_one_line(self, kept, text, run, tmp_path, monkeypatch):
        def stop(*_, **__):
            try:
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(5)
            except Stopped as stopped:
                os.kill(os.getpid(), signal.SIGTERM)  # again: it must not disturb the end
                stopped.kept, stopped.total = kept, 644
                raise

        monkeypatch.setattr("exparity.stages.evaluate.read_prepared", stop)
        late = []
        before = signal.signal(signal.SIGTERM, lambda *_: late.append("disturbed"))
        files = ["--data", tmp_path / "d", "--explanations", tmp_path / "e"]
        try:
            result = run("evaluate", "--use", "gini", *files, "--output", tmp_path / "o")
            os.kill(os.getpid(), signal.SIGTERM)  # while the process ends
        finally:
            signal.signal(signal.SIGTERM, before)
        assert not late
        line = f"exparity: stopped by SIGTERM; {text}the same command continues\n"
        assert result == (143, "", line)


HEAVY = ("torch", "transformers", "tokenizers", "pandas", "snakemake", "matplotlib")


def test_help_imports_nothing_heavy():
    code = (
        "import atexit, sys; from exparity.cli import main\n"
        f"names = {(*HEAVY, 'numpy', 'pyarrow')!r}\n"
        "atexit.register(lambda: print([n for n in names if n in sys.modules]))\n"
        "main(['--help'])"
    )
    assert process("-c", code).stdout.endswith("\n[]\n")


def test_a_server_prepares_jobs_without_anything_heavy_or_of_the_users():
    code = (
        "import sys; from exparity import cli; cli.prepare()\n"
        "from exparity.artefacts.analyses import ANALYSES\n"
        "from exparity.methods import METHODS\n"
        "from exparity.metrics import METRICS\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])\n"
        "print([registry._discovered for registry in (ANALYSES, METHODS, METRICS)])\n"
    )
    assert process("-c", code).stdout == "[]\n[False, False, False]\n"


def said_after(command: str, function: str, uses_gpu: bool, share: float = 1) -> str:
    """Return the last line of a process that does a job of a command, and perhaps stays."""
    code = (
        "import sys; from types import SimpleNamespace\n"
        "from exparity import cli; from exparity.core import usage\n"
        f"usage._SHARE = {share}; sys.argv = ['exparity', {command!r}]\n"
        f"cuda = SimpleNamespace(is_initialized=lambda: {uses_gpu})\n"
        "sys.modules['torch'] = SimpleNamespace(cuda=cuda)\n"
        "cli.main = lambda: 0\n"
        f"code = cli.{function}(lambda: print('ends'))\n"
        "print(f'stays with {code}')\n"
    )
    return run_code(code).splitlines()[-1]


@pytest.mark.skipif(sys.platform != "linux", reason="workers stay on Linux only")
@pytest.mark.parametrize(
    ("share", "uses_gpu", "said"),
    [(1, False, "stays with 0"), (0, False, "ends"), (1, True, "ends")],
)
def test_a_process_stays_unless_it_holds_much_or_a_gpu(share, uses_gpu, said):
    assert said_after("list", "run_and_stay_if_small", uses_gpu, share) == said


@pytest.mark.skipif(sys.platform != "linux", reason="workers stay on Linux only")
@pytest.mark.parametrize(
    ("command", "uses_gpu", "said"),
    [
        ("finetune", False, "stays with 0"),
        ("finetune", True, "ends"),
        ("explain", True, "stays with 0"),
    ],
)
def test_a_submission_s_process_ends_with_a_training_on_a_gpu(command, uses_gpu, said):
    assert said_after(command, "run_and_stay", uses_gpu) == said


def test_a_process_that_stays_says_each_job_s_warnings():
    code = (
        "import sys, warnings; from exparity import cli\n"
        "def main():\n    warnings.warn('converges not'); return 0\n"
        "cli.main = main; sys.argv = ['exparity', 'list']\n"
        "for _ in range(2):\n    cli.run_and_stay(lambda: None)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.count("converges not") == 2


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
@pytest.mark.parametrize("line", ["list metrics", "--help", "show --help"])
def test_a_terminal_of_another_encoding_shows_every_command(line, encoding):
    command = [sys.executable, "-m", "exparity", *line.split()]
    variables = {**os.environ, "PYTHONIOENCODING": encoding}
    run = subprocess.run(command, env=variables, capture_output=True, check=False)
    assert (run.returncode, run.stderr) == (0, b"")
    run.stdout.decode(encoding)
