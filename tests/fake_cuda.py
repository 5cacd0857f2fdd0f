"""GPUs that are none: tensors that say ``cuda:N``, compute on the CPU and refuse what CUDA refuses.

A tensor of such a GPU wraps one of the CPU, whose results it gives to the bit. An operation that
mixes it with a tensor of another device raises as CUDA would (CPU scalars, CPU indices and copies
are allowed there too), and so does ``numpy()``. Memory is counted, and ends where it is
said to. What a program does to a GPU is counted by the line of exparity that asked for it: kernels,
copies, and waits for a result.
"""

import contextlib
import sys
import threading
from collections import Counter
from types import SimpleNamespace
from unittest import mock
from weakref import WeakValueDictionary

import torch
from torch.nn.functional import scaled_dot_product_attention as attend
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import return_and_correct_aliasing

aten = torch.ops.aten

# Operations that start no kernel.
_VIEWS = {
    *("view", "transpose", "t", "permute", "expand", "slice", "select", "unsqueeze", "squeeze"),
    *("detach", "alias", "_unsafe_view", "split", "split_with_sizes", "unbind", "as_strided"),
    *("_reshape_alias", "unfold", "lift_fresh", "is_same_size"),
}
_WAITING = {
    *("_local_scalar_dense", "nonzero", "masked_select", "equal", "is_nonzero", "unique_dim"),
    "_unique2",
}
_INDEXING = {
    aten.index.Tensor,
    aten.index_put_.default,
    aten.index_put.default,
    aten._unsafe_index.Tensor,
    aten._index_put_impl_.default,
}
_COPYING = {aten.copy_.default, aten.copy.default}
_FROM_DATA = (torch.tensor, torch.as_tensor, torch.asarray)
_NO_NUMPY = (
    "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host "
    "memory first."
)


class Gpus:
    """The GPUs of a machine, their memory and what was done to them.

    Attributes:
        count: how many there are.
        memory: bytes of each.
        capability: compute capability, such as (7, 0) of a V100.
        allocated: bytes in use, by index.
        peak: most bytes in use since the peak was reset, by index.
        kernels: operations, by name.
        waits: operations that wait for the GPU, by (operation, line of exparity).
        copies: transfers, by (direction, line of exparity).
    """

    def __init__(self, count, memory, capability):
        self.count, self.memory, self.capability = count, memory, capability
        self.allocated, self.peak = [0] * count, [0] * count
        self.kernels, self.waits, self.copies = Counter(), Counter(), Counter()

    def forget(self):
        """Set the counters to 0."""
        for counter in (self.kernels, self.waits, self.copies):
            counter.clear()

    def device_of(self, name):
        """Return the torch device of a name, a number or a device; None if it is no GPU."""
        if isinstance(name, int) and not isinstance(name, bool):
            name = f"cuda:{name}"
        if isinstance(name, str):
            name = torch.device(name)
        if not isinstance(name, torch.device) or name.type != "cuda":
            return None
        return torch.device("cuda", name.index or 0)

    def index_of(self, device=None):
        found = self.device_of("cuda" if device is None else device)
        return 0 if found is None else found.index


class _Block:
    """Memory that tensors share; freed with the last of them."""

    def __init__(self, gpus, index, size):
        self.gpus, self.index, self.size = gpus, index, 0
        if gpus.allocated[index] + size > gpus.memory:
            raise torch.OutOfMemoryError(
                f"CUDA out of memory. Tried to allocate {size} bytes. GPU {index} has a total "
                f"capacity of {gpus.memory} bytes of which {gpus.allocated[index]} are in use."
            )
        self.size = size
        gpus.allocated[index] += size
        gpus.peak[index] = max(gpus.peak[index], gpus.allocated[index])

    def __del__(self):
        self.gpus.allocated[self.index] -= self.size


_blocks = WeakValueDictionary()  # by address
# Of the innermost context; before any, what tensors meet that outlive theirs.
_gpus = Gpus(8, 1 << 60, (8, 0))


def _block(elem, index):
    storage = elem.untyped_storage()
    found = _blocks.get(storage.data_ptr())
    if found is None or found.gpus is not _gpus:
        found = _blocks[storage.data_ptr()] = _Block(_gpus, index, storage.nbytes())
    return found


def _line():
    """Return the line of exparity that is running, the innermost one."""
    frame = sys._getframe(2)
    while frame is not None:
        name = frame.f_code.co_filename
        if "/src/exparity/" in name:
            return f"{name.split('/src/exparity/')[-1]}:{frame.f_lineno} {frame.f_code.co_name}"
        frame = frame.f_back
    return "elsewhere"


class FakeCuda(torch.Tensor):
    """A tensor of a GPU that is none."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, elem, index, requires_grad=False):
        out = torch.Tensor._make_wrapper_subclass(
            cls,
            elem.size(),
            strides=elem.stride(),
            storage_offset=elem.storage_offset(),
            dtype=elem.dtype,
            layout=elem.layout,
            device=elem.device,
            requires_grad=requires_grad,
        )
        out.elem, out.index, out.block = elem, index, _block(elem, index)
        return out

    device = property(lambda self: torch.device("cuda", self.index))
    is_cuda = property(lambda self: True)
    is_cpu = property(lambda self: False)

    def numpy(self, *args, **kwargs):
        raise TypeError(_NO_NUMPY)

    def __array__(self, *args, **kwargs):
        raise TypeError(_NO_NUMPY)

    def data_ptr(self):
        return self.elem.data_ptr()

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            out = FakeCuda(self.elem.detach().clone(), self.index, self.requires_grad)
            if getattr(self, "_is_param", False):
                out = torch.nn.Parameter(out, requires_grad=self.requires_grad)
            memo[id(self)] = out
        return memo[id(self)]

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        name = func._schema.name.split("::")[1]
        tensors = [x for x in pytree.tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
        index = _require_one_device(func, args, tensors)
        if name not in _VIEWS:
            _gpus.kernels[name] += 1
        indexed = args[1] if func in _INDEXING else ()
        by_mask = any(x is not None and x.dtype == torch.bool for x in indexed)
        if name in _WAITING or by_mask:
            _gpus.waits[name, _line()] += 1
        inner_args, inner = pytree.tree_map_only(FakeCuda, lambda x: x.elem, (args, kwargs))
        if "device" in inner:
            inner["device"] = torch.device("cpu")
        out = func(*inner_args, **inner)
        if name == "_local_scalar_dense":
            return out
        if name == "copy_" and not isinstance(args[0], FakeCuda):
            return args[0]
        wrapped = pytree.tree_map_only(torch.Tensor, lambda x: FakeCuda(x, index), out)
        if name.startswith(("_fused_adam", "_foreach")):
            return wrapped
        return return_and_correct_aliasing(func, args, kwargs, wrapped)


def _require_one_device(func, args, tensors):
    """Refuse what CUDA refuses; return the index of the GPU that computes."""
    here = {x.index for x in tensors if isinstance(x, FakeCuda)}
    others = [x for x in tensors if not isinstance(x, FakeCuda)]
    if len(here) > 1 and func not in _COPYING:
        raise _mixed(func, tensors)
    if others and func in _INDEXING:
        values = args[2] if len(args) > 2 else args[0]
        on_cpu = not isinstance(values, FakeCuda) and values.dim() > 0
        if not isinstance(args[0], FakeCuda) or on_cpu:
            raise _mixed(func, tensors)
        _gpus.copies["indices to the GPU", _line()] += 1
    elif others and func in _COPYING:
        _gpus.copies["to" if isinstance(args[0], FakeCuda) else "from", _line()] += 1
    elif any(x.dim() > 0 for x in others) and torch._C._current_graph_task_id() == -1:
        # Within a backward pass, autograd makes zeros with options that say "cpu" here.
        raise _mixed(func, tensors)
    return next(iter(here))


def _mixed(func, tensors):
    which = ", ".join(f"{t.device}{tuple(t.shape)}" for t in tensors)
    return RuntimeError(
        "Expected all tensors to be on the same device, but found at least two devices "
        f"({func}: {which})"
    )


def _to_gpu(x, index):
    if isinstance(x, FakeCuda):
        return x if x.index == index else _Moved.apply(x, index)
    _gpus.copies["to", _line()] += 1
    # A move that gradients would have to follow; nothing here makes one.
    assert x.is_leaf or not torch.is_grad_enabled()
    return FakeCuda(x.detach().clone(), index)


class _Moved(torch.autograd.Function):
    """A tensor on another GPU; its gradient goes back."""

    @staticmethod
    def forward(ctx, x, index):
        ctx.index = x.index
        return FakeCuda(x.elem.detach().clone(), index)

    @staticmethod
    def backward(ctx, gradient):
        return FakeCuda(gradient.elem.detach().clone(), ctx.index), None


def _to_cpu(x):
    if not isinstance(x, FakeCuda):
        return x
    _gpus.waits["copy to the CPU", _line()] += 1
    _gpus.copies["from", _line()] += 1
    assert not (x.requires_grad and torch.is_grad_enabled())
    return x.elem.detach().clone()


class _Names(TorchFunctionMode):
    """Within the context, ``cuda`` names a GPU in calls of torch."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        of = torch.Tensor
        if func is of.cpu:
            return _to_cpu(args[0])
        if func is of.tolist and isinstance(args[0], FakeCuda):
            _gpus.waits["tolist", _line()] += 1
            return args[0].elem.tolist()
        if func is of.to:
            return _to(*args, **kwargs)
        if func is torch._C._nn.pad_sequence and any(isinstance(x, FakeCuda) for x in args[0]):
            if not all(isinstance(x, FakeCuda) for x in args[0]):
                raise _mixed(func, args[0])
            _gpus.kernels["copy_ of pad_sequence"] += len(args[0])
            rows = func([x.elem for x in args[0]], *args[1:], **kwargs)
            return FakeCuda(rows, args[0][0].index)
        if func is attend and kwargs.get("is_causal"):
            query, key = args[:2] if args else (kwargs["query"], kwargs["key"])
            if isinstance(query, FakeCuda):
                # The operation would make its mask where the C++ side of a wrapper lies.
                kept = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool).tril()
                kwargs |= {"is_causal": False, "attn_mask": FakeCuda(kept, query.index)}
        device = _gpus.device_of(kwargs["device"]) if kwargs.get("device") is not None else None
        if func is torch.device and args and isinstance(args[0], int):
            return func("cuda", args[0])  # a number means the accelerator that is here
        if device is None:
            return func(*args, **kwargs)
        return _made_on_gpu(func, args, {**kwargs, "device": torch.device("cpu")}, device.index)


def _without_gradients(mode=True):
    return torch.no_grad() if mode else torch.enable_grad()


_run = threading.Thread.run


def _run_with_names(thread):
    """Run a thread in which ``cuda`` names a GPU, too: modes of torch are those of one thread."""
    with _Names():
        _run(thread)


def _made_on_gpu(func, args, kwargs, index):
    """Return a new tensor of a factory, with its data on a GPU."""
    made = func(*args, **kwargs)
    if isinstance(made, FakeCuda) or not isinstance(made, torch.Tensor):
        return made
    _gpus.kernels["factory"] += 1
    if func in _FROM_DATA:
        _gpus.copies["to", _line()] += 1
    return FakeCuda(made.detach(), index).requires_grad_(made.requires_grad)


def _to(x, *rest, device=None, dtype=None, non_blocking=False, copy=False, **kwargs):
    """Return what ``Tensor.to`` does."""
    for value in rest:
        assert not isinstance(value, torch.Tensor)  # nothing here moves to where another one is
        if isinstance(value, torch.dtype):
            dtype = value
        elif isinstance(value, str | torch.device) or type(value) is int:
            device = value
    if dtype is not None or copy or kwargs:
        x = torch.Tensor.to(x, dtype=x.dtype if dtype is None else dtype, copy=copy, **kwargs)
    if device is None:
        return x
    gpu = _gpus.device_of(device)
    if gpu is not None:
        return _to_gpu(x, gpu.index)
    if torch.device(device).type == "cpu":
        return _to_cpu(x)
    return getattr(x, "elem", x).to(device)


def _properties(gpus, device=None):
    index = gpus.index_of(device)
    major, minor = gpus.capability
    return SimpleNamespace(
        name="Fake GPU",
        uuid=f"00000000-0000-0000-0000-{index:012d}",
        major=major,
        minor=minor,
        total_memory=gpus.memory,
        multi_processor_count=1,
    )


def _calls(gpus):
    """Return what ``torch.cuda`` answers."""

    def reset_peak(device=None):
        gpus.peak[gpus.index_of(device)] = gpus.allocated[gpus.index_of(device)]

    def free(device=None):
        return gpus.memory - gpus.allocated[gpus.index_of(device)], gpus.memory

    # A function each: torch's compiler wants no two names for one.
    nothing = ("init", "empty_cache", "synchronize", "manual_seed", "manual_seed_all")
    return {
        **{name: lambda *_, **__: None for name in (*nothing, "set_rng_state")},
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "is_current_stream_capturing": lambda: False,  # asked by optimisers of torch built for CUDA
        "device_count": lambda: gpus.count,
        "current_device": lambda: 0,
        "get_device_name": lambda device=None: "Fake GPU",
        "get_device_capability": lambda device=None: gpus.capability,
        "get_arch_list": lambda: ["sm_{}{}".format(*gpus.capability)],
        "get_device_properties": lambda device=None: _properties(gpus, device),
        "is_bf16_supported": lambda *_, **__: gpus.capability >= (8, 0),
        "get_rng_state": lambda *_: torch.get_rng_state(),
        "mem_get_info": free,
        "memory_allocated": lambda device=None: gpus.allocated[gpus.index_of(device)],
        "memory_reserved": lambda device=None: gpus.allocated[gpus.index_of(device)],
        "max_memory_allocated": lambda device=None: gpus.peak[gpus.index_of(device)],
        "reset_peak_memory_stats": reset_peak,
    }


@contextlib.contextmanager
def fake_cuda(count=1, memory=1 << 40, capability=(8, 0)):
    """Within the context the machine has GPUs.

    Args:
        count: how many.
        memory: bytes of each.
        capability: their compute capability.
    """
    global _gpus
    outer, _gpus = _gpus, Gpus(count, memory, capability)
    deterministic = torch.are_deterministic_algorithms_enabled()
    # A parameter that moves is another tensor, and not another content of it.
    swapped = torch.__future__.get_swap_module_params_on_conversion()
    torch.__future__.set_swap_module_params_on_conversion(True)
    with contextlib.ExitStack() as stack:
        for name, answer in _calls(_gpus).items():
            stack.enter_context(mock.patch.object(torch.cuda, name, answer))
        # Wrappers have no version counters to share within inference mode.
        stack.enter_context(mock.patch.object(torch, "inference_mode", _without_gradients))
        stack.enter_context(_Names())
        stack.enter_context(mock.patch.object(threading.Thread, "run", _run_with_names))
        try:
            yield _gpus
        finally:
            torch.__future__.set_swap_module_params_on_conversion(swapped)
            if torch.are_deterministic_algorithms_enabled() != deterministic:
                torch.use_deterministic_algorithms(deterministic)
            _gpus = outer
