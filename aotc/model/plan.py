"""The memory plan as the module attribute `aot.plan`, written by plan-memory and read by everything that reports it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, BoolAttr, BytesAttr, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Attribute

from aotc.errors import CompileError
from aotc.model.metadata import BufferInfo, PlanInfo

PLAN = "aot.plan"


def plan_attribute(plan: PlanInfo) -> DictionaryAttr:
    """The plan as an attribute; keys are the field names of `PlanInfo` and `BufferInfo`."""
    return DictionaryAttr(
        {
            "peak_bytes": IntegerAttr(plan.peak_bytes, i64),
            "lower_bound_bytes": IntegerAttr(plan.lower_bound_bytes, i64),
            "optimal": BoolAttr.from_bool(plan.optimal),
            "alignment": IntegerAttr(plan.alignment, i64),
            "order": _strings(plan.order),
            "buffers": ArrayAttr(
                DictionaryAttr(
                    {
                        "name": StringAttr(buffer.name),
                        "offset": IntegerAttr(buffer.offset, i64),
                        "size": IntegerAttr(buffer.size, i64),
                        "first": IntegerAttr(buffer.first, i64),
                        "last": IntegerAttr(buffer.last, i64),
                        "nodes": _strings(buffer.nodes),
                    }
                )
                for buffer in plan.buffers
            ),
        }
    )


def plan_info(module: ModuleOp) -> PlanInfo:
    """The plan of a module after the phase `plan`; raises CompileError where it has none."""
    attribute = module.attributes.get(PLAN)
    if not isinstance(attribute, DictionaryAttr):
        raise CompileError(f"the module has no attribute {PLAN}; run plan-memory first")
    plan = attribute.data
    return PlanInfo(
        peak_bytes=_int(plan["peak_bytes"]),
        lower_bound_bytes=_int(plan["lower_bound_bytes"]),
        optimal=_int(plan["optimal"]) != 0,
        alignment=_int(plan["alignment"]),
        order=tuple(text_of(name) for name in _items(plan["order"])),
        buffers=tuple(_buffer(cast(DictionaryAttr, buffer).data) for buffer in _items(plan["buffers"])),
    )


def _buffer(entry: Mapping[str, Attribute]) -> BufferInfo:
    return BufferInfo(
        name=text_of(entry["name"]),
        offset=_int(entry["offset"]),
        size=_int(entry["size"]),
        first=_int(entry["first"]),
        last=_int(entry["last"]),
        nodes=tuple(text_of(name) for name in _items(entry["nodes"])),
    )


def _strings(names: Iterable[str]) -> ArrayAttr[StringAttr]:
    return ArrayAttr(StringAttr(name) for name in names)


def _items(attribute: Attribute) -> tuple[Attribute, ...]:
    assert isinstance(attribute, ArrayAttr)
    return attribute.data


def _int(attribute: Attribute) -> int:
    assert isinstance(attribute, IntegerAttr)
    return attribute.value.data


def text_of(attribute: Attribute) -> str:
    """The string of an attribute."""
    if isinstance(attribute, BytesAttr):  # what the parser makes of a string that is not ASCII
        return attribute.data.decode()
    assert isinstance(attribute, StringAttr)
    return attribute.data
