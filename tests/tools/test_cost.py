"""The command cost: one row for every finished job."""

from costs.conftest import made as made

import exparity
from exparity.artefacts.files import read_artefact
from exparity.tools.cost import cost


def test_one_row_a_job(made, capsys):
    made.data()
    made.training(device="cuda:0")
    made.explanations(wall_seconds=3600.0, cpu_seconds=1800.0, work_seconds=1.0)
    made.scores("gini")
    (made.root / "data" / "torn.parquet").write_text("torn")
    cost(made.root)
    found = exparity.read_results(made.root, "cost")
    assert found["stage"].tolist() == ["evaluate", "explain", "finetune", "prepare"]
    explain = found.iloc[1]
    assert explain["output"] == "explanations/pairs/bert/3/lime.parquet"
    assert explain["dataset"] == "pairs"
    assert (explain["seed"], explain["method"], explain["device"]) == (3, "lime", "cuda:0")
    assert (explain["examples"], explain["seconds"], explain["work_seconds"]) == (8, 3600, 1)
    assert found["runs_model"].tolist() == [False, True, True, False]
    assert found["metric"].isna().tolist() == [False, True, True, True]
    assert read_artefact(made.root / "cost.parquet", "cost")[1]["stage"] == "cost"
    out = capsys.readouterr().out
    rows = {line.split()[0]: line.split()[1:6] for line in out.splitlines()[:6]}
    assert rows["explain"] == ["1", "1", "1", "0", "0.5"]
    assert "jobs that run a model ran on cuda:0 (2)" in out


def test_a_folder_without_jobs_is_refused(tmp_path, refused):
    folder = tmp_path / "none"
    for _ in range(2):
        assert refused("cost", folder).startswith(f"exparity: {folder}: no ")
        folder.mkdir(exist_ok=True)
