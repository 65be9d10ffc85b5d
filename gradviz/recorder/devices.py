"""The places where tensors can live here, as `torch.accelerator` tells, and for those that are absent the reason."""

from __future__ import annotations

import contextlib
import platform
from typing import Any

import torch

from gradviz.trace.events import Device

_COMMON = ("cuda", "xpu", "mps")


def devices() -> tuple[Device, ...]:
    """The CPU, every accelerator of this PyTorch with its name, and the usual ones that it lacks."""
    found = [Device("cpu", name=platform.processor() or platform.machine())]
    present = _present()
    if present is not None:
        count = torch.accelerator.device_count()
        found += [Device(present, i, _name(present, i)) for i in range(count)]
    found += [
        Device(kind, available=False, reason=_reason(kind))
        for kind in _COMMON
        if kind != present and (kind != "mps" or platform.system() == "Darwin")
    ]
    return tuple(found)


def _present() -> str | None:
    if not torch.accelerator.is_available():
        return None
    accelerator = torch.accelerator.current_accelerator()
    return None if accelerator is None else accelerator.type


def _name(kind: str, index: int) -> str:
    module: Any = getattr(torch, kind, None)
    with contextlib.suppress(Exception):
        return str(module.get_device_name(index))
    return kind


def _reason(kind: str) -> str:
    module: Any = getattr(torch.backends, kind, None)
    built = getattr(module, "is_built", None)
    if callable(built):
        return "no such device was found" if built() else f"this PyTorch was built without {kind.upper()}"
    return f"this PyTorch was built without {kind.upper()}" if not _compiled(kind) else "no such device was found"


def _compiled(kind: str) -> bool:
    module: Any = getattr(torch, kind, None)
    check = getattr(module, "_is_compiled", None)
    return bool(check()) if callable(check) else False
