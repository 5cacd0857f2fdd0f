"""The memory of a job does not grow with the number of examples."""

import json
import subprocess
import sys

import pytest

from exparity.stages.prepare import prepare

# Prints the peak of the job's own process in MB.
_RUN = """
import resource, sys
from exparity.cli import main
assert main(sys.argv[1:]) == 0
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def peak(*arguments):
    command = [sys.executable, "-c", _RUN, *map(str, arguments), "--threads", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split()[-1])


@pytest.fixture(scope="module")
def cells(tmp_path_factory, checkpoints):
    """Data artefacts with 2,000 and 8,000 test examples, and predictions for them."""
    from exparity.artefacts.files import write_artefact
    from exparity.data.table import read_prepared

    found = {}
    for pairs in (1000, 4000):
        folder = tmp_path_factory.mktemp(f"pairs{pairs}")
        options = {"n_pairs": pairs + 20, "test_share": pairs / (pairs + 20)}
        prepare(
            folder / "data.parquet",
            use="pairs_all",
            params=options,
            data_dir=folder,
            dataset_id="pairs_all",
        )
        test = read_prepared(folder / "data.parquet", "test").examples
        rows = [
            {
                "example_id": e.example_id,
                "group": e.group,
                "match_id": e.match_id,
                "label": e.label,
                "probabilities": [0.5, 0.5],
                "predicted": e.label,
            }
            for e in test
        ]
        ids = {"dataset": "pairs_all", "model": "bert", "seed": 0}
        write_artefact(
            folder / "predictions.parquet", "predictions", rows, ids,
            parameters={},
        )  # fmt: skip
        found[len(test)] = folder
    return found


@pytest.mark.exhaustive  # ten thousand texts, explained and evaluated
def test_peak_memory_is_that_of_a_quarter_of_the_examples(cells, checkpoints):
    peaks = {}
    for count, folder in cells.items():
        explain = peak(
            "explain", "--use", "gradient", "--data", folder / "data.parquet",
            "--checkpoint", checkpoints["bert"],
            "--predictions", folder / "predictions.parquet",
            "--output", folder / "gradient.parquet",
        )  # fmt: skip
        evaluate = peak(
            "evaluate", "--use", "comprehensiveness", "--param", "thresholds=[0.2, 0.5]",
            "--data", folder / "data.parquet", "--checkpoint", checkpoints["bert"],
            "--explanations", folder / "gradient.parquet", "--output", folder / "scores.parquet",
        )  # fmt: skip
        peaks[count] = {"explain": explain, "evaluate": evaluate}
    print(json.dumps(peaks))
    few, many = (peaks[count] for count in sorted(peaks))
    assert sorted(peaks) == [2000, 8000]
    for stage in few:
        # Four times the examples; of each its words and its row of the result are held.
        assert many[stage] < 1.15 * few[stage], peaks
