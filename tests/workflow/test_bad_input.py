"""Bad input: one clear line; config errors before any job, with exit code 2."""

import json

import pytest

pytestmark = pytest.mark.workflow


def test_config_errors_come_before_any_job(checkout):
    """All that is refused is in tests/config/refused.yaml and tests/core/test_strict.py."""
    checkout.configure()
    first = len(checkout.config_path.read_text().splitlines()) + 1
    with checkout.config_path.open("a") as file:
        file.write("title: one\ntitle: two\n")
    run = checkout.snakemake(check=2)
    (said,) = [x for x in run.stderr.splitlines() if x.startswith("exparity: ")]
    assert said == (
        f"exparity: {checkout.config_path}:{first + 1}: key 'title' is 'title' of line {first} "
        "again; keep one"
    )
    assert "Traceback" not in run.stderr
    assert not checkout.results.exists()


def failed_job(checkout):
    run = checkout.snakemake("--until", "finetune", check=1)
    text = run.stdout + run.stderr
    assert "Traceback" not in text
    return text


def test_faulty_data_at_hand_are_found_by_a_dry_run(checkout):
    """All kinds are in tests/config/refused.yaml; what jobs say is in tests/test_cli.py."""
    row = {"sentence": ["He", "sings"], "ground_truth": [1, 0], "gender": "male", "target": 1}
    lines = [json.dumps({**row, "sentence_idx": i}) for i in range(4)]
    folder = checkout.root / "data/geco/binary_gender_all"
    folder.mkdir(parents=True)
    (folder / "test.jsonl").write_text("\n".join(lines))
    (folder / "train.jsonl").write_text("\n".join([*lines[:2], lines[2][:30]]))
    checkout.configure(datasets={"geco_all": {"verify": False}})
    run = checkout.snakemake("-n", check=2)
    (said,) = [x for x in run.stderr.splitlines() if x.startswith("exparity: ")]
    assert "train.jsonl:3: not valid JSON" in said
    assert not checkout.results.exists()


def test_checkpoint_that_is_no_classifier(checkout, checkpoints, tmp_path):
    """A model folder without weights, and an encoder without a trained head."""
    import shutil

    broken = tmp_path / "broken"
    shutil.copytree(checkpoints["bert"], broken)
    (broken / "model.safetensors").unlink()
    checkout.configure(models={"mine": {"checkpoint": str(broken)}})
    assert f"checkpoint {broken}: cannot be loaded" in failed_job(checkout)
