"""Models that accelerate spreads over devices and the disk: explained as the plain one is."""

import re

import numpy as np
import pyarrow.parquet as pq
import pytest
from accelerate import dispatch_model
from fake_cuda import fake_cuda
from stages.cells import prepare_pairs

from exparity import InputError, evaluate, explain, load_classifier
from exparity.core.device import Inference, Machine
from exparity.models.checkpoints import load_model, load_tokenizer
from exparity.models.placement import Placement
from exparity.stages.explain import explain_cell
from exparity.stages.finetune import finetune_cell

TEXTS = ["She fixes the old engine .", "He sings .", "My sister sells fresh bread at dawn ."]
METHODS = {
    "gradient": {},
    "integrated_gradients_x_input": {"n_steps": 5},
    "occlusion": {},
    "lime": {"num_samples": 40},
    "attnlrp": {},
}
PARTS = ("bert.embeddings", "bert.encoder.layer.0", "bert.encoder.layer.1", "bert.pooler")
PARTS += ("dropout", "classifier")


def placed(*devices):
    return dict(zip(PARTS, devices, strict=True))


ON_DISK = placed("cpu", "cpu", "disk", "disk", "cpu", "cpu")
ALL_ON_DISK = placed(*["disk"] * 6)
TWO_GPUS = placed(0, 0, 1, 1, 1, 1)


def results_of(classifier):
    """Scores of several methods, and of one metric of each."""
    encodings = classifier.encode(TEXTS)
    results = {"probabilities": classifier.probabilities([e.token_ids for e in encodings])}
    for method, options in METHODS.items():
        explanations = explain(classifier, TEXTS, 1, method=method, **options)
        results[method] = np.concatenate([e.scores for e in explanations])
        results[f"{method} metric"] = evaluate(classifier, explanations, metric="comprehensiveness")
    return results


@pytest.fixture(scope="module")
def plain(checkpoints):
    return results_of(load_classifier(checkpoints["bert"], "cpu"))


def assert_like_plain(results, plain):
    for name, values in plain.items():
        np.testing.assert_allclose(results[name], values, rtol=2e-6, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("device_map", [ON_DISK, ALL_ON_DISK], ids=["layers", "all"])
def test_a_model_on_disk(checkpoints, plain, device_map):
    classifier = load_classifier(checkpoints["bert"], device_map=device_map)
    assert any(weight.is_meta for weight in classifier.model.parameters())
    assert_like_plain(results_of(classifier), plain)


@pytest.mark.fake_cuda
def test_a_model_on_two_gpus(checkpoints, plain):
    model = load_model(checkpoints["bert"])
    with fake_cuda(count=2):
        spread = dispatch_model(model, TWO_GPUS)
        classifier = load_classifier((spread, load_tokenizer(checkpoints["bert"])))
        assert str(classifier.device) == "cuda:0"
        assert_like_plain(results_of(classifier), plain)


def test_what_does_not_fit_into_the_memory_that_is_given_stays_on_disk(checkpoints, plain):
    classifier = load_classifier(checkpoints["bert"], device_map="auto", max_memory="cpu=100KiB")
    assert "disk" in classifier.model.hf_device_map.values()
    assert_like_plain(results_of(classifier), plain)


def test_the_jobs_of_a_grid_take_a_model_on_disk(checkpoints, tmp_path):
    prepare_pairs(tmp_path, 8)
    model = {"checkpoint": checkpoints["bert"]}
    tables = []
    for device_map in (None, "auto"):
        machine = Machine(
            device="auto" if device_map else "cpu",
            device_map=device_map,
            max_memory=device_map and "cpu=100KiB",
        )
        folder = tmp_path / str(device_map)
        paths = {"checkpoint": folder / "3", "predictions": folder / "predictions.parquet"}
        finetune_cell(
            tmp_path / "data.parquet", paths["checkpoint"], paths["predictions"],
            model=model, training={"epochs": 0}, seed=3, machine=machine,
        )  # fmt: skip
        explain_cell(
            tmp_path / "data.parquet", paths["checkpoint"], paths["predictions"],
            folder / "lime.parquet", use="lime", params={"num_samples": 30},
            machine=Inference(**vars(machine)),
        )  # fmt: skip
        tables.append(pq.read_table(folder / "lime.parquet").column("scores").combine_chunks())
    kept, spread = (np.concatenate(table.to_numpy(zero_copy_only=False)) for table in tables)
    np.testing.assert_allclose(spread, kept, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"device_map": "everywhere"}, "device_map 'everywhere': use auto"),
        ({"device_map": "{bert: 0}"}, "device_map '{bert: 0}': use auto"),
        ({"device_map": "auto", "device": "cpu"}, "device 'cpu': device_map says"),
        ({"device_map": "auto", "max_memory": "12"}, "max_memory '12': write amounts"),
        ({"max_memory": "cpu=1GiB"}, "max_memory: is for models with a device_map"),
        ({"device_map": "auto", "precision": "fp16"}, "use bf16 with device_map"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_spread_is_refused_before_loading(checkpoints, arguments, reason):
    with pytest.raises(InputError, match=re.escape(reason)):
        load_classifier(checkpoints["bert"], **arguments)


@pytest.mark.parametrize("what", ["shortcuts", "random weights"])
def test_what_needs_all_weights_is_refused_with_its_name(checkpoints, what):
    arguments = {"device_map": ALL_ON_DISK, "shortcuts": what == "shortcuts"}
    with pytest.raises(InputError, match=f"{what}: needs all weights on one device"):
        load_classifier(checkpoints["bert"], **arguments).with_random_weights(0)


def test_gpus_are_numbers_and_other_devices_names():
    placement = Placement.read("auto", "0=14GiB, cpu=60.5GB")
    assert placement.max_memory == {0: "14GiB", "cpu": "60.5GB"}
