"""Whatever comes in from outside works or is refused in one line, and no other error is raised.

Configs, tables and command lines are valid ones with something else
put at a random place. ``EXPARITY_FUZZ=20000`` tries that many of each.
"""

import contextlib
import copy
import datetime
import io
import json
import os
import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import pytest
import yaml
from data.tables import write
from hypothesis import given, settings
from hypothesis import strategies as st
from support import TINY, logging_kept

from exparity import InputError, cli
from exparity.cli import main
from exparity.config.experiment import Experiment
from exparity.core.escaping import UNSAFE
from exparity.data import load_dataset
from exparity.data.files import DataSource

ROOT = Path(__file__).resolve().parents[1]


def tries(default):
    return settings(max_examples=int(os.environ.get("EXPARITY_FUZZ", default)))


def works_or_is_refused(call):
    try:
        call()
    except InputError as error:
        message = str(error)
    else:
        return
    assert all(line and not UNSAFE.search(line) for line in message.split("\n")), ascii(message)


PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([-1, 2**31, 2**63, 2**64, 10**400]),
    st.floats(),
    st.text(),
    st.text(alphabet=st.characters(exclude_categories=[])),
    st.sampled_from(["", ".", "nan", "1e999", "a" * 5000, "\x1b[2J", "../../x", "pairs_all"]),
)
VALUES = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


def places(node, above=()):
    """Every place in nested lists and mappings."""
    if isinstance(node, list):
        node = dict(enumerate(node))
    for key, inner in node.items() if isinstance(node, dict) else ():
        yield (*above, key)
        yield from places(inner, (*above, key))


@st.composite
def mutated(draw, valid, strange):
    """A copy of something valid in which one or two places hold something else or nothing."""
    copied = copy.deepcopy(valid)
    for _ in range(draw(st.integers(1, 2))):
        *above, last = draw(st.sampled_from(list(places(copied))))
        holder = copied
        for key in above:
            holder = holder[key]
        value = copy.deepcopy(draw(strange))
        how = draw(st.sampled_from(["replace", "delete", "insert"]))
        if how == "delete":
            del holder[last]
        elif how == "insert" and isinstance(holder, dict):
            holder[draw(st.text(max_size=5) | st.sampled_from(["use", "path", "n_steps"]))] = value
        elif how == "insert":
            holder.insert(last, value)
        else:
            holder[last] = value
    return copied


CONFIG = {
    **TINY,
    "title": "A title",
    "results": "results",
    "engine": {"device": "cpu", "token_budget": 512},
    "controls": {"random": {"draws": 2}},
    "analyses": {
        "correctness": {},
        "attribution_difference": {"min_sets": 3},
        "dataset_bias": {"terms": {"pairs_all": {"male": ["he", ["him", "his"]]}}},
    },
    "overrides": [{"match": {"dataset": "pairs_all"}, "training": {"epochs": 2}}],
}
KINDS = st.sampled_from([datetime.date(2026, 1, 1), b"bytes", {1: 2}, (1, 2), {"a"}, Path("x")])


@tries(100)
@given(mutated(CONFIG, VALUES | KINDS) | st.dictionaries(st.sampled_from(sorted(CONFIG)), VALUES))
def test_configs(config):
    works_or_is_refused(lambda: Experiment.from_mapping(config))


ROWS = [
    {
        "text": f"Review {i} is fine .",
        "label": ("no", "yes")[i % 2],
        "group": ("old", "young")[i // 2 % 2],
        "pair": str(i // 2),
        "why": "0 1 0 0 1",
        "split": ("train", "test")[i // 4 % 2],
    }
    for i in range(12)
]
OPTIONS = [{}, {"match": "pair"}, {"rationale": "why"}, {"split": "split"}, {"id": "pair"}]


@cache
def columnar_bytes(suffix):
    with TemporaryDirectory() as folder:
        return write(Path(folder, f"whole{suffix}"), ROWS).read_bytes()


@st.composite
def table_bytes(draw):
    """A table with other values or bytes, or less of them: (suffix, content)."""
    rows = draw(mutated(ROWS, VALUES))
    suffix = draw(st.sampled_from([".csv", ".tsv", ".jsonl", ".parquet", ".arrow"]))
    if suffix == ".jsonl":
        content = "".join(json.dumps(row) + "\n" for row in rows).encode("utf-8", "surrogatepass")
    elif suffix in (".csv", ".tsv"):
        content = pd.DataFrame([r for r in rows if isinstance(r, dict)]).to_csv(
            index=False, sep="\t" if suffix == ".tsv" else ","
        )
        content = content.encode("utf-8", "surrogatepass")
    else:
        content = columnar_bytes(suffix)
    start, length = draw(st.tuples(st.integers(0, len(content)), st.integers(0, 20)))
    other = draw(st.just(b"") | st.binary(max_size=20))
    return suffix, content[:start] + other + content[start + length :]


@tries(100)
@given(table_bytes(), st.sampled_from(OPTIONS))
def test_tables(tmp_path_factory, content, options):
    suffix, data = content
    path = tmp_path_factory.getbasetemp() / f"fuzzed{suffix}"
    path.write_bytes(data)
    options = {"path": str(path), **options}
    works_or_is_refused(lambda: load_dataset("table", DataSource(Path("unused")), options))


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A folder with every artefact of one cell, and files that are none."""
    folder = tmp_path_factory.mktemp("study")
    with contextlib.chdir(folder), quiet():
        for command in ("prepare", "finetune", "explain", "evaluate", "compare-groups", "bias"):
            assert main(COMMANDS[command]) == 0
        Path("config.yaml").write_text(
            yaml.safe_dump({**TINY, "datasets": {"pairs": {"use": "pairs_all"}}})
        )
        Path("empty").touch()
        Path("folder.parquet").mkdir()
        whole = Path(PATHS["SCORES"]).read_bytes()
        Path("truncated.parquet").write_bytes(whole[: len(whole) // 2])
        Path("binary.parquet").write_bytes(b"PAR1" + bytes(range(256)) + b"PAR1")
        Path("text.parquet").write_text("text,label,group\n")
        Path("own.csv").write_text("text,label\nHe ran,0\nShe sat,1\n")
    return folder


@contextlib.contextmanager
def quiet():
    """Take what is printed and logged, and put pytest's logging back."""
    said, out = io.StringIO(), io.StringIO()
    with logging_kept(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
        yield said


PATHS = {
    "DATA": "results/data/pairs.parquet",
    "MODEL": "results/models/pairs/tiny/0",
    "PREDICTIONS": "results/predictions/pairs/tiny/0.parquet",
    "EXPLAINED": "results/explanations/pairs/tiny/0/gradient.parquet",
    "SCORES": "results/scores/pairs/tiny/0/gradient/gini.parquet",
    "BIAS": "results/bias/pairs/tiny.parquet",
    "BLOCKS": json.dumps({"model": TINY["models"]["bert_tiny"], "training": {"epochs": 1}}),
    "TERMS": json.dumps({"male": [["he"]], "female": [["she"]]}),
}
OUTPUTS = "--output results/tests/pairs/tiny.parquet --across-trainings across.parquet"
OUTPUTS += " --levels levels.parquet"
COMMANDS = {
    line.split()[0]: [PATHS.get(word, word) for word in line.replace("OUTPUTS", OUTPUTS).split()]
    for line in """
prepare --output DATA --dataset-id pairs --use pairs_all --param n_pairs=20
finetune --data DATA --output MODEL --predictions PREDICTIONS --options BLOCKS --device cpu
explain --data DATA --checkpoint MODEL --predictions PREDICTIONS --output EXPLAINED --use gradient
evaluate --data DATA --explanations EXPLAINED --output SCORES --use gini
compare-groups --data DATA --predictions PREDICTIONS --scores SCORES OUTPUTS
bias --data DATA --predictions PREDICTIONS --output BIAS --resamples 10
correctness --scores SCORES --predictions PREDICTIONS --output out.parquet
attribution-difference --data DATA --explanations EXPLAINED --output out.parquet
dataset-bias --data DATA --output out.parquet --terms TERMS
mlm-score --data DATA --checkpoint MODEL --output out.parquet --original MODEL --max-examples 2
report --page results/report/index.html --results results
show results --dataset pairs --seed 0
cost results --output out.parquet
compare results results --all
plan --configfile config.yaml --device cpu
list methods
data check pairs --configfile config.yaml --data-dir data
compare-published results --study dhaini2025 --map tiny=bert --output out
""".strip().splitlines()
}
FLAGS = sorted(
    {
        flag
        for name in cli.known_commands()
        for flag in cli.known_commands()[name].parser()._option_string_actions
    }
)
KEYS = st.sampled_from(["use", "params", "model", "training", "statistics", "controls"])
KEYS |= st.sampled_from(["target", "max_examples", "precision", "n_steps", "alpha", "confidence"])
KEYS |= st.sampled_from(["epochs", "architecture", "size", "init", "checkpoint", "n_pairs"])
KEYS |= st.sampled_from(["schemes", "min_sets", "repeats", "original", "terms"])
ODD_FILES = ["empty", "truncated.parquet", "binary.parquet", "text.parquet", "folder.parquet"]
ODD_WORDS = ["no", ".", "cuda:99", "-1", "0", "nan", "1/0", "3/2", "=", "a=b=c", "{", "[]", "null"]
# Never a path that leaves the folder: what is written there would stay.
WORDS = st.one_of(
    st.sampled_from([*ODD_FILES, *PATHS.values()]),
    st.sampled_from(["gradient", "sensitivity", *ODD_WORDS]),
    st.sampled_from(FLAGS),
    VALUES.map(json.dumps),
    st.dictionaries(KEYS, VALUES, max_size=2).map(json.dumps),
    st.builds("{}={}".format, KEYS, VALUES.map(json.dumps)),
    st.text(alphabet=st.characters(exclude_characters="/.~", exclude_categories=[])),
)


@st.composite
def mistyped(draw):
    """A command line in which one or two words are others, gone, or too many."""
    words = list(draw(st.sampled_from(sorted(COMMANDS.values()))))
    for _ in range(draw(st.integers(1, 2))):
        place = draw(st.integers(1, len(words)))
        how = draw(st.integers(0, 3))
        words[place : place + (how != 1)] = [] if how == 0 else [draw(WORDS)]
    return words


@tries(60)
@given(mistyped())
def test_command_lines(study, tmp_path_factory, words):
    folder = tmp_path_factory.getbasetemp() / "fuzzed"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(study, folder)
    with contextlib.chdir(folder), quiet() as said:
        try:
            code = main(words)
        except SystemExit as stop:  # help
            code = stop.code
    assert code in (0, 1, 2), said.getvalue()
    if code:
        assert said.getvalue().splitlines()[-1].startswith("exparity"), said.getvalue()
