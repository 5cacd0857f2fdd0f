"""Every block of code in the docs does what it stands for.

Python runs: what needs nothing here, what needs results in ``workflow/test_doc_blocks.py``. Configs
are held to the schema and the options of what they name, commands parsed by what would run them.
"""

import itertools
import re
import runpy
import shlex
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from support import TINY

from exparity import cli
from exparity.artefacts.analyses import ANALYSES
from exparity.config.models import Config
from exparity.core.validation import complete, read_settings
from exparity.counterfactuals import GENERATORS
from exparity.data import DATASETS
from exparity.debiasing import INTERVENTIONS
from exparity.methods import METHODS
from exparity.metrics import METRICS
from exparity.models.heads import HEADS

pytestmark = pytest.mark.contract
REGISTRIES = (METHODS, METRICS, DATASETS, GENERATORS, INTERVENTIONS, ANALYSES, HEADS)
ROOT = Path(__file__).parents[1]
PAGES = [
    path
    for pattern in ("*.md", "config/*.md", "docs/*.md")
    for path in sorted(ROOT.glob(pattern))
    if path.name not in ("CHANGELOG.md", "CODE_OF_CONDUCT.md")
]
BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
# Read by people: what is printed, and one line of a file.
PROSE = {"text", "json"}
# Programs that are not ours.
OTHERS = {"git", "pip", "source", "cp", "mv", "echo", "curl", "tar", "unzip", "kaggle", "cd", "for"}
OTHERS |= {
    "chromium",
    "hf",
    "do",
    "done",
    "sed",
    "sha256sum",
    "snakedeploy",
    "docker",
    "apptainer",
    "time",
    "uv",
    "conda",
}
# Pages whose Python runs elsewhere, with the test that runs it.
ELSEWHERE = {
    "benchmarking.md": "benchmarking/test_benchmark.py",
    "ferret.md": "benchmarking/test_benchmark.py",
    "importing.md": "workflow/test_importing.py",
}
# First words of blocks that are no script of their own, with why.
NOT_RUN = {
    "from transformers import AutoModel": "downloads a checkpoint",
    "from datasets import load_dataset": "a package that exparity does not need",
    'exparity.evaluate(None, explanations, "mass_accuracy"': "a line of a script",
    "# workflow/Snakefile of your own": "Snakemake's language",
    "# study/workflow/Snakefile": "Snakemake's language",
    "import numpy as np\nfrom profanity_check": "a package that exparity does not need",
    "from exparity.report.context": "a section of the report, for a file in the package",
}
HERE = re.compile(r"<<'(\w+)'\n.*?^\1$", re.MULTILINE | re.DOTALL)
ASSIGNMENT = re.compile(r"[A-Z_]+=")
NEEDS_RESULTS = re.compile(r'results[/"]|\btable\[')


def printed_by(page: Path) -> dict[str, str]:
    """What a page shows right below a block of Python, by the block."""
    shown = {}
    text = page.read_text()
    for match in BLOCK.finditer(text):
        below = BLOCK.match(text, match.end() + 2)
        if match[2] == "python" and below and below[2] == "text":
            shown[textwrap.dedent(match[3])] = textwrap.dedent(below[3])
    return shown


def blocks(page: Path, language: str) -> list[str]:
    return [
        textwrap.dedent(code)
        for _, kind, code in BLOCK.findall(page.read_text())
        if kind == language
    ]


def with_blocks(language: str) -> list[Path]:
    return [page for page in PAGES if blocks(page, language)]


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def is_run(code: str) -> bool:
    return not any(code.startswith(first) for first in NOT_RUN)


def keep_registries(monkeypatch) -> None:
    """Let go what blocks register when the test is over."""
    for registry in REGISTRIES:
        registry.ids()
        monkeypatch.setattr(registry, "_entries", dict(registry._entries))


def test_every_block_is_of_a_kind_that_is_tested():
    kinds = {kind for page in PAGES for _, kind, _ in BLOCK.findall(page.read_text())}
    assert kinds == {"bash", "python", "yaml"} | PROSE
    for first in NOT_RUN:
        assert any(code.startswith(first) for page in PAGES for code in blocks(page, "python"))
    for page, test in ELSEWHERE.items():
        assert f'"{page.removesuffix(".md")}' in (ROOT / "tests" / test).read_text()


@pytest.mark.parametrize("page", with_blocks("python"), ids=named)
def test_python_that_needs_no_results_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    keep_registries(monkeypatch)
    modules = set(sys.modules)
    shown = printed_by(page)
    for number, code in enumerate(blocks(page, "python")):
        if NEEDS_RESULTS.search(code) or not is_run(code) or page.name in ELSEWHERE:
            continue
        # A file of the user's own may be imported by a later block.
        title = re.match(r'(?:# |""")(\w+\.py)\b', code)
        path = tmp_path / (title[1] if title else f"block_{number}.py")
        path.write_text(code)
        capsys.readouterr()
        if title is None:
            runpy.run_path(str(path))
            printed = capsys.readouterr().out
            assert printed == shown.get(code, printed)
        else:
            assert not re.search(r"^(import torch|from exparity.engine)", code, re.M), title[1]
            __import__(path.stem)
    for added in set(sys.modules) - modules:
        if str(tmp_path) in str(getattr(sys.modules[added], "__file__", "")):
            del sys.modules[added]


@pytest.mark.parametrize("page", with_blocks("yaml"), ids=named)
def test_configs_are_of_the_schema(page):
    for code in blocks(page, "yaml"):
        config = yaml.safe_load(code)
        config = config.get("exparity", config)  # the config of a workflow that imports this one
        if set(config) == {"debias"}:  # a line of a model
            config = {"models": {"one": config}}
        read_settings(Config, {**TINY, **config}, "config:")
        for kind, registry in (("methods", METHODS), ("metrics", METRICS)):
            for id, instance in (config.get(kind) or {}).items():
                if (use := instance.get("use", id)) not in registry.ids():
                    assert "plugins" in config, f"{kind}.{id}"
                    continue
                entry = registry.get(use)
                options = registry.options(entry)
                shared = ("use", "max_examples", "datasets")
                own = {name: value for name, value in instance.items() if name not in shared}
                complete(options, own, f"{kind}.{id}")


def commands(code: str) -> Iterator[list[str]]:
    """Yield the commands of a script, each as its words, without variables that they are given."""
    line = ""
    for more in HERE.sub("", code.replace("\\\n", " ")).splitlines():
        line = f"{line}\n{more}" if line else more
        try:
            words = shlex.split(line, comments=True)
        except ValueError:  # a quote that a later line closes
            continue
        line = ""
        for separate, command in itertools.groupby(words, ("&&", "|").__contains__):
            plain = list(itertools.dropwhile(ASSIGNMENT.match, command))
            if plain and not separate:
                yield plain
    assert not line, line


@pytest.mark.parametrize("page", with_blocks("bash"), ids=named)
def test_commands_are_known_to_what_runs_them(page, capsys):
    from snakemake.cli import get_argument_parser

    parser = get_argument_parser()
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    for called, *arguments in itertools.chain.from_iterable(
        commands(code) for code in blocks(page, "bash")
    ):
        program = called.removeprefix("env/bin/")  # the environment that the README makes
        if program == "exparity":
            if arguments != ["--version"]:
                cli._command(arguments[0], arguments[1:]).parse(arguments[1:])
        elif program == "snakemake":
            parsed = parser.parse_args(arguments)
            assert set(parsed.targets) <= {"fetch"}
            for path in parsed.configfile or ():
                assert (ROOT / path).is_file() or path.parts[0] not in ("config", "tests"), path
        elif program == "make":
            assert set(arguments) <= targets
        elif program in ("python", "pytest", "python3"):
            path = arguments[0]
            assert path in ("-m", "-c", "-") or (ROOT / path).exists(), path
            if path.startswith(("benchmarks/", "tests/report/")):
                known = (ROOT / path).read_text()
                if "simulation_parser(" in known or "add_together(" in known:
                    known += (ROOT / "benchmarks" / "shared.py").read_text()
                flags = [word.strip("[]") for word in arguments if word.strip("[").startswith("--")]
                assert all(f'"{flag}"' in known for flag in flags), flags
        else:
            assert program in OTHERS, program
