"""exparity audit: what it checks before any job, the config that it writes, and a whole run."""

import csv
import io
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import held
import pandas as pd
import pyarrow as pa
import pytest
import yaml
from data.tables import rows_of, write
from pyarrow import parquet
from support import copy_checkpoint, refused_by

import exparity
from exparity.config.experiment import Experiment
from exparity.config.tasks import outdated
from exparity.core.errors import ExparityError, InputError
from exparity.jobs.stop import Stopped
from exparity.resources import workflow_file
from exparity.tools import audit as module
from exparity.tools.audit import audit

REFUSED = refused_by(__file__)
CLASSES = ("Female", "Male")
"""Those of the tiny checkpoint, written in another way."""


def write_table(path, count=40):
    rows = rows_of(
        count,
        review=lambda i: f"the {('plain', 'fine')[i % 2]} girl sings near harbour {i}",
        author=CLASSES,
        town=("north", "north", "south", "south"),
        marks=("0 1 0 1 0 0 0",),
    )
    write(path, rows)


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Configs that were to run, each with the cores, and whether it was a dry run."""
    monkeypatch.chdir(tmp_path)
    asked = []

    def run(path, cores, dry_run):
        asked.append((yaml.safe_load(path.read_text()), cores, dry_run))

    monkeypatch.setattr(module, "run_workflow", run)
    monkeypatch.setattr(module, "_say_what_was_found", lambda experiment: None)  # nothing was run
    write_table(Path("Reviews 2026.csv"))
    return asked


@pytest.fixture
def asked(checkpoints):
    """What every call names."""
    return {
        "table": "Reviews 2026.csv", "checkpoint": checkpoints["bert"],
        "text": "review", "label": "author", "group": ["town"],
    }  # fmt: skip


def test_an_audit_is_an_ordinary_config(runs, asked, capsys):
    audit(**asked, quick=True, rationale="marks", cores="1")
    ((config, cores, dry_run),) = runs
    assert (cores, dry_run) == ("1", False)
    assert config["results"] == "results/audit_reviews_2026_bert"
    assert config["datasets"] == {
        "reviews_2026": {
            "use": "table", "path": "Reviews 2026.csv", "text": "review", "label": "author",
            "group": "town", "rationale": "marks", "labels": list(CLASSES), "test_share": 1,
        }
    }  # fmt: skip
    assert config["models"] == {
        "bert": {"checkpoint": asked["checkpoint"], "training": {"epochs": 0}}
    }
    assert {method["max_examples"] for method in config["methods"].values()} == {200}
    assert {"mass_accuracy", "gini"} <= config["metrics"].keys()
    assert config["analyses"] == {"correctness": {}}
    assert config["engine"] == {"shortcuts": True}
    assert "reference" not in config["controls"]
    written = Path("results/audit_reviews_2026_bert/config.yaml")
    command = written.read_text().splitlines()[1]
    assert f"snakemake --snakefile {workflow_file('Snakefile')} --configfile {written}" in command
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "Open results/audit_reviews_2026_bert/report/index.html in a browser"


def test_an_audit_that_is_not_quick_has_skill(runs, asked):
    audit(**asked, cores="1")
    ((config, _, _),) = runs
    assert config["controls"] == {"reference": {"enabled": True}}


def test_what_is_asked_for_wins(runs, asked):
    audit(
        **{**asked, "group": ["town", "author"]}, methods=["lime"], metrics=["gini"], quick=True,
        max_examples=30, results=Path("mine"), dry_run=True,
    )  # fmt: skip
    ((config, _, dry_run),) = runs
    assert dry_run
    assert config["results"] == "mine"
    groups = {id: dataset["group"] for id, dataset in config["datasets"].items()}
    assert groups == {"reviews_2026_town": "town", "reviews_2026_author": "author"}
    assert config["methods"] == {"lime": {"max_examples": 30}}
    assert config["metrics"] == {"gini": {}}


@pytest.mark.parametrize(
    ("columns", "ids"),
    [
        (["town", "Town!"], ["reviews_town_a7d8effa", "reviews_town_87da0b8b"]),
        (["性别", "年龄"], ["reviews_b9c18481", "reviews_fcdc0919"]),
        (
            ["a" * 70, "a" * 80],
            [f"reviews_{'a' * 47}_{digest}" for digest in ("c70299bd", "95c80c6a")],
        ),
        (["town", "town"], ["reviews"]),
    ],
)
def test_every_column_is_a_comparison_of_its_own(runs, asked, columns, ids):
    distinct = list(dict.fromkeys(columns))
    text = {"review": lambda i: f"text {i}", "author": CLASSES}
    write(Path("reviews.csv"), rows_of(40, **text, **dict.fromkeys(distinct, "xxyy")))
    audit(**{**asked, "table": "reviews.csv", "group": columns})
    ((config, *_),) = runs
    assert list(config["datasets"]) == ids
    # The attribute that reports name is the column itself.
    assert [one["group"] for one in config["datasets"].values()] == distinct


def test_columns_with_a_plus_are_intersections(runs, asked):
    text = {"review": lambda i: f"text {i}", "author": CLASSES}
    write(Path("reviews.csv"), rows_of(96, **text, town="xxyyzz", age=["old"] * 6 + ["young"] * 6))
    audit(**{**asked, "table": "reviews.csv", "group": ["town+age", "age"]})
    ((config, *_),) = runs
    groups = {id: one["group"] for id, one in config["datasets"].items()}
    assert groups == {"reviews_town_age": ["town", "age"], "reviews_age": "age"}
    assert config["analyses"] == {"worst_group": {}}  # of six groups


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_config_of_someone_else_is_not_overwritten(runs, asked, dry_run):
    path = Path("config.yaml")
    path.write_text("# mine\n")
    with pytest.raises(
        InputError, match=r"config.yaml: was not written by `exparity audit`.*--res"
    ):
        audit(**asked, results=Path(), dry_run=dry_run)
    assert path.read_text() == "# mine\n"
    assert not runs


def test_a_dry_run_replaces_no_config(runs, asked, capsys):
    audit(**asked, quick=True, results=Path("mine"), dry_run=True)
    path = Path("mine", "config.yaml")
    before = path.read_text()
    audit(**asked, methods=["lime"], results=Path("mine"), dry_run=True)
    assert path.read_text() == before
    assert list(Path("mine").iterdir()) == [path]
    assert "mine/config.yaml is as it was" in capsys.readouterr().out
    # It says what would run with the new one, which is then written in place of the old one.
    assert list(runs[-1][0]["methods"]) == ["lime"]
    audit(**asked, methods=["lime"], results=Path("mine"))
    assert yaml.safe_load(path.read_text())["methods"] == {"lime": {}}


def test_without_names_of_outputs_their_order_is_asked_for(runs, asked, checkpoints, tmp_path):
    names = {"id2label": {0: "LABEL_0", 1: "LABEL_1"}, "label2id": {"LABEL_0": 0, "LABEL_1": 1}}
    asked["checkpoint"] = copy_checkpoint(checkpoints["bert"], tmp_path / "unnamed" / "0", **names)
    with pytest.raises(InputError, match=r"does not name its 2 classes.*: --labels Female Male"):
        audit(**asked)
    audit(**asked, labels=["Male", "Female"])
    ((config, *_),) = runs
    assert config["datasets"]["reviews_2026"]["labels"] == ["Male", "Female"]
    assert list(config["models"]) == ["unnamed_0"]
    declared = {"names": ["Male", "Female"], "_type": "ClassLabel"}
    features = json.dumps({"info": {"features": {"author": declared}}})
    table = pd.read_csv("Reviews 2026.csv")
    table["author"] = table["author"].map(declared["names"].index)
    made = pa.Table.from_pandas(table).replace_schema_metadata({"huggingface": features})
    parquet.write_table(made, "hub.parquet")
    audit(**{**asked, "table": "hub.parquet"})
    assert runs[-1][0]["datasets"]["hub"]["labels"] == ["Male", "Female"]


@pytest.fixture
def posts(checkpoints, tmp_path, runs):
    """A checkpoint of the labels female and male, and a table with a column of each."""
    kind = {"problem_type": "multi_label_classification"}
    folder = copy_checkpoint(checkpoints["bert"], tmp_path / "several", **kind)
    labels = {"Female": (0, 1), "male": (0, 0, 1, 1), "town": "nsn", "race": "ababa"}
    write(Path("posts.csv"), rows_of(60, text=lambda i: f"the girl sings {i}", **labels))
    return {"table": "posts.csv", "checkpoint": folder, "methods": ["lime"]}


def test_of_several_labels_the_column_names_one(runs, posts, asked):
    audit(**posts, label="male", group=["town"])
    audit(**posts, label="Female", group=["town", "race"], model_label="male")
    assert [run[0]["models"]["several"]["label"] for run in runs] == ["male", "male"]
    assert runs[0][0]["title"] == "Audit of several (male) on posts.csv"
    assert "*" not in Path(runs[1][0]["results"], "config.yaml").read_text()  # no YAML alias
    with pytest.raises(InputError, match="label 'male': each text has one of the classes"):
        audit(**asked, model_label="male")
    with pytest.raises(InputError, match="has several labels, and a text of the data has one"):
        audit(**posts, label="race", group=["town"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *REFUSED["what_is_wrong_is_said_before_any_job"],
        ({"results": Path("../up")}, "config: results: '../up'"),
    ],
)
def test_what_is_wrong_is_said_before_any_job(runs, asked, changes, message):
    with pytest.raises(InputError, match=message):
        audit(**{**asked, **changes})
    assert not runs
    assert not Path("results").exists()


def spoil(path):
    """Write a table again with semicolons, a byte order mark and three rows with a gap."""
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    rows += [[" ", *rows[1][1:]], [*rows[2][:1], "", *rows[2][2:]], [*rows[3][:2], "", rows[3][3]]]
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        csv.writer(file, delimiter=";").writerows(rows)


def test_incomplete_rows_are_refused_in_one_line_or_left_out(runs, asked, capsys):
    spoil(Path("Reviews 2026.csv"))
    with pytest.raises(
        InputError, match=r"3 of 43: 1 without review \(.*csv:42\), .*--drop-incomplete"
    ):
        audit(**asked)
    audit(**asked, drop_incomplete=True)
    assert "by town: 3 rows are left out: 1 without review, 1" in capsys.readouterr().out
    ((config, _, _),) = runs
    assert config["datasets"]["reviews_2026"]["drop_incomplete"] is True


@pytest.mark.workflow
def test_a_run_that_fails_shows_how_its_log_ends(tmp_path, monkeypatch, capsys):
    snakefile = tmp_path / "Snakefile"
    snakefile.write_text(
        "rule all:\n    output: 'made.txt'\n    shell: 'echo in the way; exit 3'\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "workflow_file", lambda name: snakefile)
    config = Path("mine", "config.yaml")
    config.parent.mkdir()
    config.write_text("{}")
    with pytest.raises(
        ExparityError, match=r"the run failed; see above and mine/logs/snakemake\.log"
    ):
        module.run_workflow(config, "1")
    out, err = capsys.readouterr()
    assert out == ""
    assert "echo in the way; exit 3" in err
    assert err.count("\n") < 50


class TestPrompts:
    """A language model is asked by prompts, each of which is a run."""

    PROMPTS = ("{text}\nIt is by a", "By {text} this is a")
    WORDS = ("Male= man", "Female= woman")

    @pytest.fixture
    def asked(self, asked, tmp_path, checkpoints):
        from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel

        tokenizer = AutoTokenizer.from_pretrained(checkpoints["gpt2"])
        tokenizer.save_pretrained(tmp_path / "lm")
        config = GPT2Config(vocab_size=len(tokenizer), n_embd=16, n_layer=4, n_head=2)
        GPT2LMHeadModel(config).save_pretrained(tmp_path / "lm")
        return {**asked, "checkpoint": str(tmp_path / "lm")}

    def test_prompts_become_seeds(self, runs, asked):
        audit(**asked, prompt=self.PROMPTS, word=self.WORDS, quick=True)
        ((config, *_),) = runs
        assert config["seeds"] == [0, 1]
        assert config["prompts"] == {
            "reviews_2026": {
                "templates": list(self.PROMPTS),
                "words": {"Male": " man", "Female": " woman"},
            }
        }
        (model,) = config["models"].values()
        assert model["head"] == "label_words"
        assert model["training"] == {"epochs": 0}
        assert config["datasets"]["reviews_2026"]["labels"] == ["Male", "Female"]

    @pytest.mark.parametrize(("given", "message"), REFUSED["prompts"])
    def test_what_does_not_fit_is_refused(self, runs, asked, given, message):
        with pytest.raises(InputError, match=message):
            audit(**asked, **given)
        assert not runs


@pytest.mark.workflow
def test_an_audit_explains_every_whole_row_once(repository, checkpoints, tmp_path, monkeypatch):
    """Every whole row is explained, others are counted, and nothing is made again."""
    write_table(tmp_path / "reviews.csv")
    spoil(tmp_path / "reviews.csv")
    path = os.pathsep.join([str(repository / "src"), str(held.HERE)])
    source = {**os.environ, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1"}
    command = (
        "audit --table reviews.csv --quick --text review --label author --group town "
        "--drop-incomplete --methods gradient --metrics mass_accuracy --rationale marks "
        "--max-examples 40 --cores 2 --checkpoint"
    )
    run = subprocess.run(
        [sys.executable, "-m", "exparity", *command.split(), checkpoints["bert"]],
        cwd=tmp_path, env=source, capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    page = tmp_path / run.stdout.splitlines()[-1].split()[1]
    text = page.read_text()
    assert "<strong>one classifier</strong>" in text
    assert "3 rows are left out: 1 without author, 1 without review, 1" in text
    # What Snakemake prints is in a file; the terminal says what the page begins with.
    log = page.parents[1] / "logs" / "snakemake.log"
    assert "steps (100%) done" in log.read_text()
    assert "start anew" not in log.read_text()
    assert "Finished jobid" not in run.stdout + run.stderr
    assert f"all that Snakemake says goes to {log.relative_to(tmp_path)}" in run.stderr
    caution = "exparity: caution: bert on reviews, seed 0: the classifier predicts one class for"
    assert run.stderr.count(caution) == 1
    untested = "1 of 1 comparison was not tested, because the classifier predicts one class"
    assert untested in run.stdout
    assert len(exparity.read_results(page.parents[1], "predictions")) == 40
    assert set(exparity.read_results(page.parents[1], "data")["split"]) == {"test"}
    assert len(exparity.read_results(page.parents[1], "correctness"))
    monkeypatch.chdir(tmp_path)
    config = yaml.safe_load((page.parents[1] / "config.yaml").read_text())
    assert outdated(Experiment.from_mapping(config)) == {}


class TestFunctions:
    """A function of texts in place of a checkpoint."""

    @pytest.fixture
    def asked(self, asked, tmp_path, monkeypatch):
        monkeypatch.setattr(sys, "path", [*sys.path])
        (tmp_path / "audited_black_box.py").write_text("raise SystemExit")
        del asked["checkpoint"]
        return {**asked, "predict": "audited_black_box:predict", "labels": list(CLASSES)}

    def test_the_config_names_the_function_and_methods_that_ask(self, runs, asked):
        audit(**asked, quick=True, max_calls=5000)
        ((config, *_),) = runs
        assert config["models"] == {
            "audited_black_box_predict": {
                "predict": "audited_black_box:predict",
                "classes": list(CLASSES),
            }
        }
        assert list(config["methods"]) == ["occlusion", "lime_words", "shap"]
        assert config["title"] == "Audit of audited_black_box:predict on Reviews 2026.csv"
        assert config["engine"] == {"shortcuts": False, "max_calls": 5000}

    @pytest.mark.parametrize(("changes", "message"), REFUSED["functions"])
    def test_what_does_not_go_with_a_function_is_refused(self, runs, asked, changes, message):
        with pytest.raises(InputError, match=message):
            audit(**{**asked, **changes})
        assert not runs


def test_a_term_lets_the_run_end_in_order():
    run = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit('jobs are saved'))\n"
        "print('begins', flush=True)\n"
        "while True:\n    time.sleep(0.1)\n"
    )

    class Log(io.StringIO):
        def write(self, line):
            if "begins" in line:
                os.kill(os.getpid(), signal.SIGTERM)
            return super().write(line)

    log = Log()
    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(Stopped):
            module._logged([sys.executable, "-c", run], log)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert log.getvalue() == "jobs are saved\n"


def test_no_two_tables_or_models_share_a_folder(runs, asked):
    names = ["отзывы_1.csv", "обзоры_1.csv", "1.csv", f"{'a' * 80}1.csv", f"{'a' * 80}2.csv"]
    for name in names:
        shutil.copy(asked["table"], name)
        audit(**{**asked, "table": name}, quick=True, dry_run=True)
    configs = [config for config, _, _ in runs]
    assert len({config["results"] for config in configs}) == len(names)
    assert len({next(iter(config["datasets"])) for config in configs}) == len(names)
    Path("other").mkdir()
    other = shutil.copy(asked["table"], f"other/{asked['table']}")
    audit(**asked, quick=True, dry_run=True)
    with pytest.raises(InputError, match=r"is of the audit of Reviews 2026.csv, and not of other/"):
        audit(**{**asked, "table": other}, quick=True, dry_run=True)
