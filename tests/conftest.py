"""Shared fixtures: tiny checkpoints of three families, made here without a network."""

import gc
import os
import sys
import zlib
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import settings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# Workers of pytest-xdist keep the cores busy; more threads would only be in each other's way.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Snakemake asks SLURM's commands when it is imported, and these look nine seconds for a controller
# where nothing says that there is none; the tests' own is named where it is used.
os.environ.setdefault("SLURM_CONF", os.devnull)
# Compiling the functions of the shap package takes 15 seconds; tests/methods/test_packages.py has
# a process that does.
os.environ.setdefault("NUMBA_DISABLE_JIT", "1")
# Hundreds of processes are started; none but the first compiles the package.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

from support import CPU, PAIRS, logging_kept, made_once

from exparity.core.registry import _PLUGINS
from exparity.data import load_dataset
from exparity.data.files import DataSource
from exparity.types import Example

sys.dont_write_bytecode = False

# How long an example takes depends on what else runs. New examples are tried by whoever works on
# the project; CI fails for what has changed, and not for the examples that it happened to draw.
_SAME = {"deadline": None, "derandomize": bool(os.environ.get("CI"))}
settings.register_profile("exparity", max_examples=15 if os.environ.get("CI") else 40, **_SAME)
settings.register_profile("exhaustive", max_examples=300, **_SAME)

# Nothing here is to survive a power cut, and each wait for the disk is longer than most tests.
os.fsync = lambda handle: None

LONG_WORKFLOWS = (
    "test_kills.py", "test_audit.py", "test_analyses.py", "test_outdated.py", "test_importing.py",
    "test_plugin_parts.py", "test_runs.py",
)  # fmt: skip
LONG = (
    "test_page.py", "test_conformance.py", "compare/test_skill.py", "debiasing/test_training.py",
    "test_benchmark.py", "test_term_weight_probe.py", "methods/test_self_explanation.py",
    "test_imports.py",
)  # fmt: skip
"""Files that take 20 CPU seconds or more; of workflows, 25."""

FAMILIES = ("bert", "roberta", "gpt2")
_SIZES = {
    "bert": {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 64,
        "max_position_embeddings": 64,
    },
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64},
}
_SIZES["roberta"] = {**_SIZES["bert"], "max_position_embeddings": 66}


def pytest_addoption(parser):
    parser.addoption("--exhaustive", action="store_true", help="run tests so marked as well")


def pytest_configure(config):
    config.addinivalue_line("markers", "slurm: runs on a SLURM that the tests start themselves")
    settings.load_profile("exhaustive" if config.getoption("--exhaustive") else "exparity")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """One more than there are cores, and four at most: those that run workflows wait for jobs.

    In CI the other parts of ``.ci/run`` work meanwhile; a worker more would import all once more.
    """
    cores = os.cpu_count() or 1
    return min(4, cores if os.environ.get("CI") else cores + 1)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give a worker a file as a whole, whose tests share fixtures, and all of SLURM to one.

    Marks for --dist loadgroup do nothing with pytest 9.2, whose ids pytest-xdist 3.8 cannot change.
    """
    from xdist.scheduler import LoadFileScheduling

    class Files(LoadFileScheduling):
        def _split_scope(self, nodeid):
            # There is one cluster on a machine.
            return "slurm" if nodeid.startswith("tests/slurm/") else super()._split_scope(nodeid)

    return Files(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    # The objects that it makes stay: looking through them for garbage finds none.
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_modifyitems(config, items):
    # What takes longest comes first: begun last, it would leave the other workers without work.
    items.sort(key=_urgency)
    if not config.getoption("--exhaustive"):
        left_out = {item for item in items if _is_exhaustive(item)}
        left_out |= _left_out_of_sweeps([item for item in items if item not in left_out])
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]


def pytest_collection_finish():
    # A million objects that stay: every collection of garbage would go through them. What tests
    # leave is looked through seldom; at Python's threshold that was an eighth of some tests.
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)


def _is_exhaustive(item) -> bool:
    """Of a sweep over families and something else, each of that meets one family."""
    if "exhaustive" in item.keywords:
        return True
    parameters = dict(getattr(getattr(item, "callspec", None), "params", {}))
    family = parameters.pop("classifier", None)
    if family not in FAMILIES or not parameters:
        return False
    # By name, since a function prints its address, and two processes have to choose alike.
    values = sorted(getattr(value, "__name__", str(value)) for value in parameters.values())
    return family != FAMILIES[_number(item, values) % len(FAMILIES)]


def _left_out_of_sweeps(items: list) -> set:
    """Return the cases of tests marked ``sweep`` but every third one, and at least one of a test.

    What another test has of each method, metric or mode such a test has of two of them together.
    """
    sweeps = defaultdict(list)
    for item in items:
        if "sweep" in item.keywords:
            sweeps[item.path, item.originalname].append(item)
    left_out = set()
    for cases in sweeps.values():
        first = _number(cases[0], []) % min(3, len(cases))
        left_out |= {case for n, case in enumerate(cases) if n % 3 != first}
    return left_out


def _number(item, values: list) -> int:
    return zlib.crc32(f"{item.path.name}::{item.originalname}{values}".encode())


def _urgency(item) -> int:
    path = item.path.as_posix()
    if "slurm" in item.keywords:
        return 0
    if "workflow" in item.keywords:
        return 1 if path.endswith(LONG_WORKFLOWS) else 2
    return 3 if path.endswith(LONG) else 4


@pytest.fixture(autouse=True)
def logging_as_before():
    """``main`` sets up logging for a process of its own; put pytest's back."""
    with logging_kept():
        yield


@pytest.fixture(autouse=True)
def plugins_as_before(monkeypatch):
    """A process that a later test starts loads no plug-in of this one, whose file may be gone."""
    monkeypatch.setattr("exparity.core.registry._PLUGINS", {**_PLUGINS})


@pytest.fixture
def one_thread():
    """Sums of several threads may be rounded otherwise from run to run."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def run(capsys, monkeypatch):
    """Run a command in this process, without its log: (exit code, stdout, stderr)."""
    from exparity import cli

    for name in [name for name in os.environ if name.startswith("EXPARITY_")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr("logging.basicConfig", lambda **_: None)
    monkeypatch.setattr("logging.captureWarnings", lambda _: None)

    def call(*arguments):
        capsys.readouterr()
        try:
            code = cli.main([str(a) for a in arguments])
        except SystemExit as stop:  # help
            code = stop.code
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def refused(run):
    """Run a command that ends with 2 and one line, and return that."""

    def call(*arguments):
        code, out, err = run(*arguments)
        assert (code, out, err.count("\n")) == (2, "", 1), err
        assert err.startswith("exparity: ")
        return err

    return call


@pytest.fixture(scope="session")
def repository() -> Path:
    return Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def examples() -> list[Example]:
    return load_dataset("pairs_all", DataSource(Path("unused")), {"n_pairs": 60})


@pytest.fixture(scope="session")
def sentences(examples) -> list[str]:
    """Texts of varied length."""
    chosen = sorted({e.text for e in examples}, key=lambda t: (len(t), t))
    return chosen[::7]


def random_checkpoints(folder, sizes, vocab_size, labels, texts) -> None:
    """Write random classifiers by family; weights are large enough for visible gradients."""
    import torch

    from exparity.models.checkpoints import build_model
    from exparity.models.folders import quiet_transformers
    from exparity.models.spec import ModelSpec

    for family, size in sizes.items():
        torch.manual_seed(7)
        spec = ModelSpec(init="scratch", architecture=family, size=size, vocab_size=vocab_size)
        model, tokenizer = build_model(spec, labels, texts)
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.ndim > 1:
                    parameter.mul_(10)
        with quiet_transformers():
            model.save_pretrained(folder / family)
            tokenizer.save_pretrained(folder / family)


def loaded(checkpoints: dict[str, str]) -> dict:
    import torch

    from exparity import load_classifier

    torch.set_num_threads(1)
    return {family: load_classifier(path, "cpu") for family, path in checkpoints.items()}


@pytest.fixture(scope="session")
def checkpoints(tmp_path_factory, examples) -> dict[str, str]:
    """Folders of random classifiers by family."""
    texts = [e.text for e in examples]
    folder = made_once(
        "checkpoints",
        tmp_path_factory,
        lambda folder: random_checkpoints(folder, _SIZES, 600, ["female", "male"], texts),
    )
    return {family: str(folder / family) for family in _SIZES}


@pytest.fixture(scope="session")
def classifiers(checkpoints):
    """Loaded classifiers by family; tests must leave them as they found them."""
    return loaded(checkpoints)


PAIR_FAMILIES = ("bert", "roberta", "distilbert")


@pytest.fixture(scope="session")
def pair_checkpoints(tmp_path_factory) -> dict[str, str]:
    """Folders of random classifiers of sentence pairs by family; only BERT has token types."""
    sizes = {
        "bert": _SIZES["bert"],
        "roberta": {**_SIZES["roberta"], "type_vocab_size": 1},
        "distilbert": {
            "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64, "max_position_embeddings": 64
        },
    }  # fmt: skip
    labels = ["contradiction", "neutral", "entailment"]
    folder = made_once(
        "pair_checkpoints",
        tmp_path_factory,
        lambda folder: random_checkpoints(folder, sizes, 400, labels, PAIRS * 5),
    )
    return {family: str(folder / family) for family in sizes}


@pytest.fixture(scope="session")
def pair_classifiers(pair_checkpoints):
    """Loaded classifiers of sentence pairs by family; tests must leave them as they found them."""
    return loaded(pair_checkpoints)


@pytest.fixture(params=PAIR_FAMILIES)
def pair_classifier(request, pair_classifiers):
    return pair_classifiers[request.param]


@pytest.fixture(params=FAMILIES)
def classifier(request, classifiers):
    return classifiers[request.param]


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """A small BERT that has learnt the embedded pairs: (classifier, test texts, test labels)."""
    from exparity import load_classifier

    folder = made_once("trained", tmp_path_factory, _train)
    test = load_dataset("pairs_all", DataSource(folder), {"n_pairs": 300})
    test = [e for e in test if e.split == "test"]
    classifier = load_classifier(str(folder / "model" / "0"), "cpu")
    return classifier, [e.text for e in test], [e.label for e in test]


def _train(folder: Path) -> None:
    from exparity.stages.finetune import finetune_cell
    from exparity.stages.prepare import prepare

    prepare(folder / "data.parquet", use="pairs_all", params={"n_pairs": 300}, data_dir=folder)
    finetune_cell(
        folder / "data.parquet",
        folder / "model" / "0",
        folder / "predictions.parquet",
        model={"init": "scratch", "architecture": "bert", "size": _SIZES["bert"]},
        training={"epochs": 8, "learning_rate": 3e-3, "batch_size": 32},
        model_id="model",
        seed=0,
        machine=CPU,
    )
