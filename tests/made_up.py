"""A made-up results folder: what the jobs of one cell write, with round numbers."""

from __future__ import annotations

from pathlib import Path

from exparity.artefacts.files import write_artefact

IDS = {"dataset": "pairs", "model": "bert", "seed": 3}
MODEL = {"init": "scratch", "architecture": "bert", "size": {"hidden_size": 8}}
STAGES = {
    "data": "prepare", "history": "finetune", "predictions": "finetune", "explanations": "explain",
    "scores": "evaluate", "tests": "test", "bias": "bias",
    "across_trainings": "across_trainings",
    "adjusted_gaps": "adjusted_gaps",
    "correctness": "correctness", "dataset_bias": "dataset_bias", "mlm_scores": "mlm_score",
    "random_scores": "negative_control", "disparity": "report",
}  # fmt: skip
HEADER = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time"


class MadeUp:
    """Writes artefacts and benchmarks of a results folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def benchmark(self, name, seconds, rss="300.00", cpu="1.00"):
        path = self.root / "benchmarks" / f"{name}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{HEADER}\n{seconds}\t0:00:01\t{rss}\t1\t1\t1\t0\t0\t50\t{cpu}\n")
        return path

    def artefact(self, path, artefact, rows, parameters, ids=IDS, seconds=0.5, **extra):
        path = self.root / f"{path}.parquet"
        device = extra.pop("device", "cpu")
        # What this process has used is none of the made-up job's.
        used = {"cpu_seconds": 0.25, "max_rss_mb": 50.0, **extra}
        write_artefact(
            path, artefact, rows, ids, stage=STAGES[artefact], parameters=parameters, device=device,
            seconds=seconds, extra=used,
        )  # fmt: skip
        return path

    def data(self, train=20, test=8, use="pairs_all"):
        rows = [
            {"example_id": f"{i:03d}", "match_id": f"{i // 2}", "text": "a b", "words": ["a", "b"],
             "split": "train" if i < train else "test", "label": 0, "group": "fm"[i % 2],
             "rationale": None, "attributes": []}
            for i in range(train + test)
        ]  # fmt: skip
        parameters = {"use": use, "n_pairs": (train + test) // 2}
        self.artefact("data/pairs", "data", rows, parameters, {"dataset": "pairs"})
        self.benchmark("prepare/pairs", "2.00")

    def training(self, epochs=3, n=8, device="cuda:0", **extra):
        rows = [
            {"epoch": i + 1, "step": i, "learning_rate": 0.1, "train_loss": 0.1,
             "train_accuracy": 0.5, "validation_loss": 0.1, "validation_accuracy": 0.5,
             "seconds": 2.0}
            for i in range(epochs)
        ]  # fmt: skip
        parameters = {"model": MODEL, "training": {"epochs": epochs, "batch_size": 16}}
        extra.setdefault("work_seconds", 2.0 * epochs)
        self.artefact("models/pairs/bert/3/history", "history", rows, parameters, **extra)
        (self.root / "models/pairs/bert/3/model.safetensors").write_bytes(b"x" * 5000)
        rows = [
            {"example_id": f"{i}", "group": "f", "match_id": None, "label": 0,
             "probabilities": [0.5, 0.5], "predicted": 0}
            for i in range(n)
        ]  # fmt: skip
        path = "predictions/pairs/bert/3"
        self.artefact(path, "predictions", rows, parameters, device=device)
        self.benchmark("finetune/pairs/bert/3", "10.00")

    def explanations(self, method="lime", n=8, params=None, **extra):
        rows = [
            {"example_id": f"{i}", "target": 0, "token_ids": [1, 2], "tokens": ["a", "b"],
             "word_ids": [0, 1], "scores": [0.5, 0.25]}
            for i in range(n)
        ]  # fmt: skip
        parameters = {"use": method, "params": params or {}, "precision": "bf16"}
        path = f"explanations/pairs/bert/3/{method}"
        ids = {**IDS, "method": method}
        self.artefact(path, "explanations", rows, parameters, ids, device="cuda:0", **extra)

    def scores(self, metric="gini", n=8, params=None, device="cpu", **extra):
        rows = [
            {"example_id": f"{i}", "group": "f", "match_id": None, "score": 0.5} for i in range(n)
        ]
        parameters = {"use": metric, "params": params or {}, "precision": "bf16"}
        path = f"scores/pairs/bert/3/lime/{metric}"
        ids = {**IDS, "method": "lime", "metric": metric}
        self.artefact(path, "scores", rows, parameters, ids, device=device, **extra)
