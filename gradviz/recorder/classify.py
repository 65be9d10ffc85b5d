"""What kind of call a function that reached the function mode is."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import torch
from torch.overrides import resolve_name


class Kind(IntEnum):
    """SKIP is passed on unseen; BACKWARD only has its errors noted; the rest is recorded."""

    SKIP = 0
    OP = 1
    IN_PLACE = 2
    SILENT = 3
    """Writes to arguments without moving their version counters."""
    BACKWARD = 4
    GRAD_GET = 5
    GRAD_SET = 6
    DATA_SET = 7
    FLAG = 8
    """`requires_grad_`, `retain_grad`, `requires_grad = …`: no content changes."""
    HOOK = 9


_PROPERTIES = frozenset(("data", "T", "mT", "H", "mH", "real", "imag"))
_READS = frozenset(
    (
        "item",
        "tolist",
        "__bool__",
        "__float__",
        "__int__",
        "__index__",
        "__complex__",
        "numpy",
        "__array__",
        "__contains__",
        "allclose",
        "equal",
        "size",
        "dim",
        "stride",
        "numel",
        "nelement",
        "ndimension",
        "__len__",
        "__repr__",
        "__str__",
        "__format__",
        "__hash__",
        "is_floating_point",
        "is_complex",
        "is_contiguous",
        "storage_offset",
        "data_ptr",
        "element_size",
        "type_of",
        "get_device",
        "is_inference",
        "untyped_storage",
        "_is_view",
        "is_same_size",
        "is_tensor",
        "result_type",
        "get_default_dtype",
        "is_conj",
        "is_neg",
        "has_names",
        "dim_order",
        "is_nonzero",
        "__dir__",
        "is_shared",
        "__reduce_ex__",
        "storage",
        "is_pinned",
        "broadcast_shapes",
        "promote_types",
        "can_cast",
        "is_signed",
        "finfo",
        "iinfo",
        "output_nr",
        "sym_int",
        "sym_float",
        "sym_not",
        "sym_max",
        "sym_min",
        "_set_multithreading_enabled",
        "_set_grad_enabled",
        "manual_seed",
        "seed",
        "set_rng_state",
        "get_rng_state",
        "initial_seed",
        "_make_dual",
        "_unpack_dual",
        "__deepcopy__",
        "__cuda_array_interface__",
        "_get_tracing_state",
        "share_memory_",
        "is_storage",
        "_typed_storage",
        "register_post_accumulate_grad_hook",
    )
)
_WRITERS = frozenset(
    (
        "__setitem__",
        "detach_",
        "resize_",
        "set_",
        "__iadd__",
        "__isub__",
        "__imul__",
        "__itruediv__",
        "__ifloordiv__",
        "__imod__",
        "__ipow__",
        "__iand__",
        "__ior__",
        "__ixor__",
        "__ilshift__",
        "__irshift__",
    )
)
_SHORT = {"__getitem__": "getitem", "__setitem__": "setitem", "__matmul__": "matmul", "__rsub__": "rsub"}


def classify(func: Any) -> Kind:
    """The kind of a function; ask once and remember."""
    name = getattr(func, "__name__", "") or str(func)
    owner = getattr(getattr(func, "__self__", None), "__name__", "")
    if name == "__get__":
        return Kind.GRAD_GET if owner == "grad" else Kind.OP if owner in _PROPERTIES else Kind.SKIP
    if name in ("__set__", "__delete__"):
        return {"grad": Kind.GRAD_SET, "data": Kind.DATA_SET, "requires_grad": Kind.FLAG}.get(owner, Kind.SKIP)
    if func in (torch.Tensor.backward, torch.autograd.backward, torch.autograd.grad):
        return Kind.BACKWARD
    if name in ("requires_grad_", "retain_grad"):
        return Kind.FLAG
    if name == "register_hook":
        return Kind.HOOK
    if name in _READS or "_record_function" in str(func):
        return Kind.SKIP
    if name.startswith("_fused_") or name in ("batch_norm", "instance_norm"):
        return Kind.SILENT
    if name in _WRITERS or (name.endswith("_") and not name.endswith("__")):
        return Kind.IN_PLACE
    return Kind.OP


def names(func: Any) -> tuple[str, str]:
    """Short name as people write it, and the qualified one."""
    if isinstance(func, type):
        return func.__name__, f"{func.__module__}.{func.__qualname__}"
    name = getattr(func, "__name__", "") or str(func)
    if name in ("__get__", "__set__", "__delete__"):
        owner = getattr(getattr(func, "__self__", None), "__name__", "")
        return owner, f"torch.Tensor.{owner}.{name}"
    try:
        full = resolve_name(func)
    except Exception:  # torch.overrides walks arbitrary namespaces and lets through whatever they raise
        full = None
    qualified = str(full or getattr(func, "__qualname__", None) or name)
    if isinstance(func, torch._ops.OpOverload | torch._ops.OpOverloadPacket):
        qualified = str(func)
        name = qualified.split(".")[1] if "." in qualified else qualified
    return _SHORT.get(name) or (name.strip("_") if name.startswith("__") else name), qualified
