"""Linear layers on oneDNN: the same numbers, only while the engine runs the model."""

import copy

import numpy as np
import pytest
import torch
from support import need
from transformers.pytorch_utils import Conv1D

from exparity.engine.kernels import LinearLayers, Route, available


@pytest.fixture(autouse=True)
def kernels():
    need(available(), "oneDNN in torch")


def model_of(layer):
    return torch.nn.ModuleDict({"layer": layer}).requires_grad_(False)


LAYERS = {
    "linear": lambda: torch.nn.Linear(24, 40),
    "without bias": lambda: torch.nn.Linear(24, 40, bias=False),
    "conv1d": lambda: Conv1D(40, 24),
}


@pytest.mark.parametrize("kind", LAYERS)
def test_values_and_gradients_are_those_of_float64(kind):
    torch.manual_seed(0)
    layer = LAYERS[kind]()
    model, packed = model_of(layer), None
    packed = LinearLayers(model)
    inputs = torch.randn(3, 7, 24, requires_grad=True)
    weights = torch.randn(3, 7, 40)
    with packed.in_use():
        found = layer(inputs)
        (gradient,) = torch.autograd.grad((found * weights).sum(), inputs)
    exact = copy.deepcopy(layer).double()
    wide = inputs.detach().double().requires_grad_(True)
    expected = exact(wide)
    (slope,) = torch.autograd.grad((expected * weights.double()).sum(), wide)
    np.testing.assert_allclose(found.detach(), expected.detach(), atol=1e-5)
    np.testing.assert_allclose(gradient, slope, atol=1e-5)


def test_a_changed_weight_is_packed_again():
    layer = torch.nn.Linear(8, 8)
    packed = LinearLayers(model_of(layer))
    inputs = torch.randn(5, 8)
    with torch.no_grad(), packed.in_use():
        before = layer(inputs)
        layer.weight.mul_(2)
        after = layer(inputs)
    np.testing.assert_allclose(after - layer.bias, 2 * (before - layer.bias), rtol=1e-5, atol=1e-6)


def test_layers_are_the_models_own_outside_and_after_an_error():
    layer = torch.nn.Linear(8, 8)
    packed = LinearLayers(model_of(layer))
    with packed.in_use():
        assert "forward" in vars(layer)

    def fail():
        with packed.in_use():
            raise RuntimeError("boom")

    with pytest.raises(RuntimeError, match="boom"):
        fail()
    assert "forward" not in vars(layer)


def test_a_layer_that_is_replaced_already_stays_so():
    layer = torch.nn.Linear(8, 8)
    packed = LinearLayers(model_of(layer))
    layer.forward = lambda inputs: inputs
    inputs = torch.randn(5, 8)
    with packed.in_use():
        assert layer(inputs) is inputs
    assert layer(inputs) is inputs


def copies(packed):
    """Directions of the copies that each layer keeps."""
    return [sorted(layer._packed) for layer in packed._layers]


@pytest.mark.parametrize("bound", [0, None], ids=["large", "small"])
def test_a_large_model_keeps_one_copy_at_a_time_and_computes_the_same(monkeypatch, bound):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(24, 40), torch.nn.GELU(), torch.nn.Linear(40, 8))
    model.requires_grad_(False)
    both = LinearLayers(model)
    if bound is not None:
        monkeypatch.setattr("exparity.engine.kernels.BOTH_KEPT", bound)
    packed = LinearLayers(model)
    inputs = torch.randn(9, 24)

    def forward(layers):
        with torch.no_grad(), layers.in_use():
            return model(inputs)

    def gradient(layers):
        rows = inputs.clone().requires_grad_(True)
        with layers.in_use(gradients=True):
            return torch.autograd.grad(model(rows).sum(), rows)[0]

    wanted = forward(both), gradient(both)
    kept = {}
    for step in ("forward", "gradient", "gradient", "forward"):
        run = forward if step == "forward" else gradient
        assert torch.equal(run(packed), wanted[step == "gradient"])
        kept[step] = copies(packed)
    if bound is None:
        assert kept["forward"] == [["backward", "forward"]] * 2
    else:
        assert kept == {"forward": [["forward"]] * 2, "gradient": [["backward"]] * 2}


@pytest.mark.bits
@pytest.mark.parametrize("units", [32, 64, 128, 384])
def test_a_row_has_the_same_bits_in_any_company(units, one_thread):
    layer = torch.nn.Linear(units, 2 * units)
    layers = LinearLayers(model_of(layer), narrow=units <= 128)
    rows = torch.randn(300, units)
    with torch.no_grad(), layers.in_use():
        every = layer(rows)
        parts = [slice(40, 40 + n) for n in (1, 2, 3, 5, 7, 15, 16, 21, 31, 40, 63, 99, 250)]
        differ = [part for part in parts if not torch.equal(layer(rows[part]), every[part])]
    assert layers.are_steady
    assert differ == []


@pytest.mark.bits
@pytest.mark.parametrize("shape", [(48, 96), (384, 1536), (1536, 384), (768, 768)], ids=str)
def test_a_row_in_bfloat16_has_the_same_bits_in_any_company(shape, one_thread):
    torch.manual_seed(0)
    layer = torch.nn.Linear(*shape, dtype=torch.bfloat16)
    layers = LinearLayers(model_of(layer))
    if not available(torch.bfloat16):  # torch's own product promises no bits
        assert not layers._layers[0].route.packed
        return
    rows = torch.randn(1600, shape[0]).bfloat16()
    slopes = torch.randn(1600, shape[1]).bfloat16()

    def computed(part):
        inputs = rows[part].clone().requires_grad_(True)
        outputs = layer(inputs)
        (gradient,) = torch.autograd.grad((outputs * slopes[part]).sum(), inputs)
        return outputs.detach(), gradient

    with layers.in_use(gradients=True):
        every = computed(slice(None))
        for n in (1, 5, 15, 16, 21, 63, 64, 99, 250, 257, 500, 900):
            part = slice(40, 40 + n)
            for apart, among in zip(computed(part), every, strict=True):
                assert torch.equal(apart, among[part]), n
    assert layers.are_steady


@pytest.mark.parametrize("n", [1, 40, 64, 256, 300])
@pytest.mark.parametrize("kind", LAYERS)
def test_blocks_of_rows_give_what_one_product_gives(monkeypatch, kind, n):
    layer = LAYERS[kind]()
    inputs = torch.randn(2, n, 24, requires_grad=True)
    found = {}
    for in_blocks in (False, True):
        way = Route(True, True, forward_in_blocks=in_blocks, backward_in_blocks=in_blocks)
        monkeypatch.setattr("exparity.engine.kernels.route", lambda *_, way=way, **__: way)
        with LinearLayers(model_of(layer)).in_use(gradients=True):
            outputs = layer(inputs)
            outputs.mul_(2)  # as some models write into what they get
            found[in_blocks] = outputs, torch.autograd.grad(outputs.square().sum(), inputs)[0]
    for one, blocks in zip(found[False], found[True], strict=True):
        torch.testing.assert_close(blocks, one)
