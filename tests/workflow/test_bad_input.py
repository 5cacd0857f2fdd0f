"""Bad input: one clear line; config errors before any job, with exit code 2."""

import shutil

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
        f"exparity: {checkout.config_path}:{first + 1}: not valid YAML (key 'title' is 'title' of "
        f"line {first} again; keep one)"
    )
    assert "Traceback" not in run.stderr
    assert not checkout.results.exists()


def test_checkpoint_that_is_no_classifier(checkout, checkpoints, tmp_path):
    """The job that loads it fails, and the run shows the line that says why."""
    broken = tmp_path / "broken"
    shutil.copytree(checkpoints["bert"], broken)
    (broken / "model.safetensors").unlink()
    checkout.configure(models={"mine": {"checkpoint": str(broken)}})
    run = checkout.snakemake("--until", "finetune", check=1)
    said = run.stdout + run.stderr
    assert f"checkpoint {broken}: cannot be loaded" in said
    assert "Traceback" not in said
