"""Bad input: one clear line; config errors before any job, with exit code 2."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.workflow


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"methods": {"gradiant": {}}},
            "methods.gradiant: unknown method 'gradiant'; did you mean",
        ),
        ({"results": "../elsewhere"}, "results"),
    ],
)
def test_config_errors_come_before_any_job(checkout, changes, line):
    """All that is refused is in tests/config/refused.yaml."""
    checkout.configure(**changes)
    run = checkout.snakemake(check=2)
    assert [x for x in run.stderr.splitlines() if x.startswith("exparity: ")] == [
        x for x in run.stderr.splitlines() if line in x
    ]
    assert "Traceback" not in run.stderr
    assert not checkout.results.exists()


def test_d18_cores_below_one_are_refused_in_a_dry_run(checkout):
    checkout.configure()
    run = checkout.snakemake("-n", "--cores", "-5", check=2)
    assert run.stderr.splitlines()[-1] == "exparity: --cores -5: write 1 or more, or all"
    assert "Traceback" not in run.stderr


def test_a_key_twice_is_refused_with_both_lines(checkout):
    checkout.configure()
    first = len(checkout.config_path.read_text().splitlines()) + 1
    with checkout.config_path.open("a") as file:
        file.write("title: one\ntitle: two\n")
    run = checkout.snakemake("-n", check=2)
    assert run.stderr.splitlines()[-1] == (
        f"exparity: {checkout.config_path}:{first + 1}: key 'title' is 'title' of line {first} "
        "again; keep one"
    )


def failed_job(checkout):
    run = checkout.snakemake("--until", "finetune", check=1)
    text = run.stdout + run.stderr
    assert "Traceback" not in text
    return text


def test_missing_data_file(checkout):
    checkout.configure(datasets={"geco_all": {}}, download=False, data_dir="nowhere")
    text = failed_job(checkout)
    assert "nowhere/geco/binary_gender_all/train.jsonl is missing; get https://" in text
    assert "SHA-256 2763003165719d26ef66503ef3943b782a77e4ef9741098a8e18ad1592ad0df9" in text


def rows(first, last, label=None):
    for i in range(first, last):
        for gender in ("male", "female"):
            target = int(gender == "male") if label is None else label
            yield {
                "sentence": ["He" if gender == "male" else "She", "sings", f"song{i}", "."],
                "ground_truth": [1, 0, 0, 0],
                "gender": gender,
                "target": target,
                "sentence_idx": i,
            }


def write_geco(folder, train, test):
    folder.mkdir(parents=True)
    for name, lines in (("train", train), ("test", test)):
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize(
    ("fault", "line"),
    [
        ("json", "train.jsonl:3: not valid JSON"),
        ("labels", "all training examples have the label 1; a classifier needs two classes"),
    ],
)
def test_faulty_data(checkout, fault, line):
    """As a job that reads it says, and one that trains on it; more stands in tests/test_cli.py."""
    train = [json.dumps(r) for r in rows(0, 4, label=1 if fault == "labels" else None)]
    test = [json.dumps(r) for r in rows(4, 6)]
    if fault == "json":
        train[2] = train[2][:30]
    write_geco(checkout.root / "data/geco/binary_gender_all", train, test)
    checkout.configure(datasets={"geco_all": {"verify": False}})
    assert line in failed_job(checkout)


def test_checkpoint_that_is_no_classifier(checkout, checkpoints, tmp_path):
    """A model folder without weights, and an encoder without a trained head."""
    import shutil

    broken = tmp_path / "broken"
    shutil.copytree(checkpoints["bert"], broken)
    (broken / "model.safetensors").unlink()
    checkout.configure(models={"mine": {"checkpoint": str(broken)}})
    assert f"checkpoint {broken}: cannot be loaded" in failed_job(checkout)
