"""Helpers that tests import."""

import copy
import fcntl
import hashlib
import json
import logging
import os
import random
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from exparity.core.device import Inference
from exparity.types import Example

REPOSITORY = Path(__file__).resolve().parents[1]
REAL = Path(os.environ.get("EXPARITY_DATA") or REPOSITORY.parent / "shared" / "data")
"""Where real data lies, if it does."""
CPU = Inference(device="cpu")


def need(present: bool, what: str) -> None:
    """Skip where a component is missing; fail where EXPARITY_REQUIRE_ALL says it must be there."""
    if present:
        return
    if os.environ.get("EXPARITY_REQUIRE_ALL") == "1":
        pytest.fail(f"{what} is missing, and EXPARITY_REQUIRE_ALL is set")
    pytest.skip(f"{what} is missing")


def cpu_seconds() -> float:
    """CPU time of the processes that this one has started and that have ended.

    The wall clock depends on what else runs; the processor's time hardly does.
    """
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def made_once(name: str, tmp_path_factory: Any, make: Callable[[Path], object]) -> Path:
    """Return a folder that one worker of pytest-xdist makes for all; no test changes it."""
    together = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        together = together.parent
    made = together / name
    with (together / f"{name}.finished").open("a+") as finished:
        fcntl.flock(finished, fcntl.LOCK_EX)
        # Not where this file was opened, but where it ends once nobody else has the lock.
        if not finished.seek(0, os.SEEK_END):
            shutil.rmtree(made, ignore_errors=True)
            made.mkdir()
            make(made)
            finished.write("yes")
    return made


def run_code(code: str, *arguments: object, **options: Any) -> str:
    """Return what code prints in a process of its own, which has to end well."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    run = subprocess.run(command, capture_output=True, text=True, **options)
    assert run.returncode == 0, run.stderr
    return run.stdout


def write_program(path: Path, script: str) -> None:
    """Write a shell script that can be run by its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def copy_checkpoint(checkpoint: str, folder: Path, **settings: Any) -> str:
    """Copy a checkpoint, with other settings in its configuration, and return where it lies."""
    shutil.copytree(checkpoint, folder)
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | settings))
    return str(folder)


@contextmanager
def killed_after(epoch: int) -> Iterator[None]:
    """Within the context, a training ends with the snapshot of an epoch."""
    from exparity.models.snapshots import StateFolder

    save = StateFolder.save

    def save_then_die(self, snapshot):
        save(self, snapshot)
        if snapshot.facts["epoch"] == epoch:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StateFolder, "save", save_then_die)
        with pytest.raises(KeyboardInterrupt):
            yield


@contextmanager
def logging_kept() -> Iterator[None]:
    """Put the logging of this process back when the context ends; commands set up their own."""
    root, data = logging.getLogger(), logging.getLogger("exparity.data")
    handlers, level, of_data = list(root.handlers), root.level, data.level
    try:
        yield
    finally:
        logging.captureWarnings(False)
        root.handlers[:] = handlers
        root.setLevel(level)
        data.setLevel(of_data)  # `plan` leaves what is odd in data to the job that prepares them


def refused_by(test: str) -> dict[str, list]:
    """Return what tests of a file try that is refused, by test: a part of its folder's table."""
    table = yaml.safe_load(Path(test).with_name("refused.yaml").read_text())
    return table[Path(test).stem.removeprefix("test_")]


def interpreter_seconds() -> float:
    """CPU time of a fixed piece of Python: the unit for bounds that hold on any machine."""
    before = time.process_time()
    texts = {}
    for number in range(1_000_000):
        texts[number % 1000] = isinstance(number, int) and str(number)
    return time.process_time() - before


def wait_until(
    holds: Callable[[], object], seconds: float = 120, what: str = "", pause: float = 0.01
) -> None:
    """Wait until a condition holds; it is asked anew after each pause, in seconds."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
        time.sleep(pause)


def is_gone(process: psutil.Process) -> bool:
    """Wait until a process has ended; one that nobody asks for its status has."""
    with suppress(psutil.NoSuchProcess):
        wait_until(lambda: not process.is_running() or process.status() == psutil.STATUS_ZOMBIE)
    return True


def rotten(path: Path, flips: int) -> Iterator[str]:
    """Flip one bit of a file at a time, anywhere and in its last bytes; it is whole again after."""
    whole = path.read_bytes()
    draw = random.Random(path.name)
    bits = range(8 * len(whole))
    for bit in draw.sample(bits, flips - 16) + draw.sample(bits[-1000:], 16):
        content = bytearray(whole)
        content[bit // 8] ^= 1 << bit % 8
        path.write_bytes(content)
        yield f"{path.name}: bit {bit} of {bits.stop}"
    path.write_bytes(whole)


ABSENT = (("words_b", None), ("written", None), ("written_b", None))


def digest_of(examples: Iterable[Example]) -> str:
    """SHA-256 over all that is said of examples."""
    facts = [
        sorted((name, fact) for name, fact in vars(example).items() if (name, fact) not in ABSENT)
        for example in examples
    ]
    return hashlib.sha256(repr(facts).encode()).hexdigest()


def marked(text: str) -> tuple[int, ...]:
    """A made-up rationale: every third word from the second, so of two words one."""
    words = text.split()
    return tuple(int(i % 3 == 1 or len(words) == 1) for i in range(len(words)))


PAIRS = [
    ("the girl sings near the harbour", "a waiter sings ."),
    ("his mother", "her friend thanked the waiter ."),
    ("the waiter thanked her", "the waiter"),
]
"""Premises and hypotheses."""

NARROW = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
}
"""Size of a BERT that trains in no time."""

TINY = yaml.safe_load((REPOSITORY / ".test" / "config" / "config.yaml").read_text())
N_METHODS = len(TINY["methods"])
N_METRICS = len(TINY["metrics"])
# A language model that answers with words, and what it is asked about the texts of pairs_all.
LLAMA = {
    "init": "scratch",
    "architecture": "llama",
    "head": "label_words",
    "size": {
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "intermediate_size": 32,
    },
}
GENDER_PROMPT = {
    "words": {"female": " female", "male": " male"},
    "templates": ["Text: {text}\nGender:"],
}


def tiny(**changes):
    """The small experiment of ``.test``, with other blocks."""
    from exparity.config.experiment import Experiment  # every worker would wait for it

    return Experiment.from_mapping({**copy.deepcopy(TINY), **changes})
