"""Drawing operators of one element: functions, arithmetic, comparisons, conversions, quantisation."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from aotc.dialects.dtypes import ELEMENT_TYPES, numpy_dtype
from aotc.frontend.onnx.tensors import ONNX_TYPES
from fuzz.drafts import ANY, FLOATS, INTEGERS, MOVES, NUMBERS, RARE, SIGNED, SMOOTH, STEPS, Draft, Drawer
from fuzz.oracle import Refused

FUNCTIONS: dict[str, tuple[float, float]] = {
    **dict.fromkeys(
        ("Neg", "Abs", "Sin", "Cos", "Atan", "Tanh", "Asinh", "Erf", "Sigmoid", "Softsign", "Relu"), (-4, 4)
    ),
    **dict.fromkeys(("Softplus", "Elu", "Selu", "Celu", "LeakyRelu", "HardSigmoid", "HardSwish", "Mish"), (-4, 4)),
    **dict.fromkeys(("Exp", "Sinh", "Cosh"), (-3, 3)),
    **dict.fromkeys(("Log", "Sqrt", "Reciprocal"), (0.1, 5)),
    **dict.fromkeys(("Asin", "Acos", "Atanh", "Tan"), (-0.9, 0.9)),
    **dict.fromkeys(("Gelu", "Swish"), (-4, 4)),
    "Acosh": (1.1, 5),
}
"""Functions of floats, and where they are well conditioned."""

ALPHA = ("Elu", "Celu", "LeakyRelu", "Swish", "ThresholdedRelu")
INTEGER_FUNCTIONS = ("Abs", "Neg", "Sign", "Relu")
STEP_FUNCTIONS = ("Ceil", "Floor", "Round", "Sign", "IsNaN", "IsInf", "ThresholdedRelu", "Shrink")
FROM_OPSET = {"Gelu": 20, "Mish": 18, "HardSwish": 14, "Swish": 24}


def _function(op_type: str, d: Draft) -> None:
    if d.opset < FROM_OPSET.get(op_type, 0):
        raise Refused("a later operator")
    if op_type in INTEGER_FUNCTIONS and d.chance(0.25):
        d.add(op_type, [d.take(SIGNED, -100, 100)], how=STEPS)
        return
    attributes: dict[str, Any] = {}
    if op_type in ALPHA and d.chance(0.7):
        attributes["alpha"] = float(d.rng.uniform(0.1, 2))
    if op_type == "Gelu" and d.chance(0.5):
        attributes["approximate"] = "tanh"
    if op_type == "HardSigmoid" and d.chance(0.5):
        attributes |= {"alpha": 0.3, "beta": 0.4}
    low, high = FUNCTIONS[op_type]
    d.add(op_type, [d.take(FLOATS, low, high, bounded=low != -4)], how=SMOOTH, **attributes)


def _step(op_type: str, d: Draft) -> None:
    attributes = {"lambd": 0.7, "bias": d.pick((0.0, 0.3))} if op_type == "Shrink" else {}
    floats = ("float32", "float16") if op_type == "Shrink" else FLOATS  # of doubles onnxruntime computes it in floats
    dtypes = (*FLOATS, *SIGNED) if op_type == "Sign" else floats
    d.add(op_type, [d.take(dtypes, exact=True)], how=STEPS, **attributes)


def _arithmetic(op_type: str, d: Draft) -> None:
    dtypes = (*FLOATS, "int32", "int64") if d.opset < 14 and op_type != "Div" else NUMBERS
    x = d.take(dtypes, -100 if d.chance(0.2) else -4, 50)
    if op_type == "Div":
        y = d.beside(x, 0.5, 5, inside=True)
        if x.dtype in INTEGERS and not np.all(y.array):
            raise Refused("a division by zero")
    else:
        y = d.beside(x)
    operands = [x, y] if d.chance(0.7) or op_type == "Div" else [y, x]
    d.add(op_type, operands, how=SMOOTH if x.dtype not in INTEGERS else STEPS)


def _mod(d: Draft) -> None:
    x = d.take(NUMBERS, -50, 50, exact=True)
    y = d.beside(x, 1, 7, inside=True, exact=True)
    d.add("Mod", [x, y], how=STEPS, fmod=1 if x.dtype not in INTEGERS else d.number(0, 1))


def _pow(d: Draft) -> None:
    x = d.take(("float32", "float64"), 0.2, 3, bounded=True)
    y = d.beside(x, -2, 3, inside=True) if d.chance(0.6) else d.known(np.array(d.pick((0, 0.5, 1, 2, 3, -1)), x.dtype))
    d.add("Pow", [x, y])


def _variadic(op_type: str, d: Draft) -> None:
    x = d.take(FLOATS if op_type in ("Sum", "Mean") else (*FLOATS, "int32", "int64", "int8", "uint8"))
    others = [d.beside(x) for _ in range(d.number(0, 3))]
    d.add(op_type, [x, *others], how=STEPS if x.dtype in INTEGERS else SMOOTH)


def _compare(op_type: str, d: Draft) -> None:
    x = d.take(NUMBERS if op_type != "Equal" else ANY, exact=True)
    d.add(op_type, [x, d.beside(x, exact=True)], how=STEPS)


def _logical(op_type: str, d: Draft) -> None:
    x = d.take(("bool",))
    d.add(op_type, [x] if op_type == "Not" else [x, d.beside(x)], how=STEPS)


def _bitwise(op_type: str, d: Draft) -> None:
    if d.opset < 18:
        raise Refused("a later operator")
    x = d.take(INTEGERS, -100, 100)
    d.add(op_type, [x] if op_type == "BitwiseNot" else [x, d.beside(x)], how=STEPS)


def _shift(d: Draft) -> None:
    x = d.take(("uint8", "uint32", "uint64", "uint16"), 0, 200)
    d.add("BitShift", [x, d.beside(x, 0, 9, inside=True)], how=STEPS, direction=d.pick(("LEFT", "RIGHT")))


def _where(d: Draft) -> None:
    x = d.take((*ANY, *RARE))
    y = d.beside(x)
    shape = np.broadcast_shapes(x.shape, y.shape)
    condition = d.fresh("bool", [1 if d.chance(0.2) else n for n in shape[d.number(0, len(shape)) :]])
    d.add("Where", [condition, x, y], how=MOVES)


def _clip(d: Draft) -> None:
    x = d.take(NUMBERS)
    if d.opset < 11:
        d.add("Clip", [x], min=-1.5, max=1.25)
        return
    low, high = (d.known(d.array(x.dtype, (), *ends)) for ends in ((-3, 1), (1, 3)))
    d.add("Clip", [x, low if d.chance(0.7) else None, high if d.chance(0.7) else None])


def _prelu(d: Draft) -> None:
    x = d.take(FLOATS, ranks=(1, 5))
    slope = d.fresh(x.dtype, [1 if d.chance(0.3) else n for n in x.shape[d.number(0, x.rank) :]], 0, 1)
    d.add("PRelu", [x, slope])


def _cast(d: Draft) -> None:
    target = d.pick((*ANY, *ANY, *RARE))
    whole = target not in FLOATS
    low, high = {"int2": (-2, 1), "uint2": (0, 3)}.get(target, (0 if target.startswith("u") else -4, 4))
    x = d.take((*ANY, *ANY, *RARE), low, high, exact=whole, bounded=whole)
    d.add("Cast", [x], how=STEPS if whole else SMOOTH, to=ONNX_TYPES[ELEMENT_TYPES[target]])


def _cast_like(d: Draft) -> None:
    x, like = d.take(FLOATS, 0, 4, exact=True, bounded=True), d.take(ANY)
    d.add("CastLike", [x, like], how=STEPS if like.dtype not in FLOATS else SMOOTH)


def _swiglu(d: Draft) -> None:
    """Of a later version than onnxruntime has."""
    d.later(28)
    x = d.take(("float32", "float32", "float16"))
    y = d.fresh(x.dtype, x.shape)
    d.add("SwiGLU", [x, y], elsewhere=True, **({"alpha": 1.3} if d.chance(0.5) else {}))


def _identity(op_type: str, d: Draft) -> None:
    d.add(op_type, [d.take((*ANY, *RARE) if op_type == "Identity" else FLOATS)], how=MOVES)


def _quantized_type(d: Draft) -> str:
    wide = ("int16", "uint16", "int4", "uint4") if d.opset >= 21 else ()
    return d.pick(("int8", "uint8", "int8", "uint8", *wide))


def _scales(d: Draft, shape: tuple[int, ...]) -> tuple[dict[str, Any], tuple[int, ...]]:
    """Attributes, and the shape of scales: one for all, for each element of an axis, or for blocks of it."""
    way = d.number(0, 2 if d.opset >= 21 else 1) if shape else 0
    if way == 0:
        return {}, ()
    axis = d.number(-len(shape), len(shape) - 1)
    if way == 1:
        return {"axis": axis}, (shape[axis],)
    block = d.pick([n for n in range(1, shape[axis] + 1) if shape[axis] % n == 0])
    blocks = list(shape)
    blocks[axis] //= block
    return {"axis": axis, "block_size": block}, tuple(blocks)


def _quantize(d: Draft) -> None:
    x = d.take(("float32", "float32", "float16") if d.opset >= 19 else ("float32",), -9, 9, exact=True)
    attributes, shape = _scales(d, x.shape)
    scale = d.fresh(x.dtype, shape, 0.05, 1.5, constant=d.chance(0.8))
    dtype = _quantized_type(d)
    point = d.fresh(dtype, shape, 0 if dtype == "uint4" else -3, 7, constant=d.chance(0.8))
    if dtype == "uint8" and d.chance(0.1):
        d.add("QuantizeLinear", [x, scale], how=STEPS, **attributes)
    else:
        d.add("QuantizeLinear", [x, scale, point], how=STEPS, **attributes)


def _dequantize(d: Draft) -> None:
    x = d.take((_quantized_type(d), "int8", "uint8", "int32"), -100 if d.chance(0.5) else -2, 100)
    if x.dtype in ("int4", "uint4"):
        x = d.fresh(x.dtype, d.shape(), 0 if x.dtype[0] == "u" else -8, 7)
    attributes, shape = _scales(d, x.shape)
    scale = d.fresh("float32", shape, 0.05, 1.5, constant=d.chance(0.8))
    point = None if x.dtype == "int32" or d.chance(0.2) else d.fresh(x.dtype, shape, 0, 7, constant=d.chance(0.8))
    d.add("DequantizeLinear", [x, scale, *([point] if point else [])], **attributes)


def _dynamic_quantize(d: Draft) -> None:
    d.add("DynamicQuantizeLinear", [d.take(("float32",), exact=True)], 3, how=STEPS)


def _powers(d: Draft) -> None:
    """Numbers of types that memory codes in a byte, on their way to others."""
    x = d.known(d.rng.uniform(0, 3, d.shape()).astype(numpy_dtype(d.pick(RARE))), constant=False)
    d.add("Cast", [x], how=STEPS, to=ONNX_TYPES[ELEMENT_TYPES[d.pick(("float32", "float16", "int32"))]])


DRAWERS: dict[str, Drawer] = {
    **{name: partial(_function, name) for name in FUNCTIONS},
    **{name: partial(_step, name) for name in STEP_FUNCTIONS},
    **{name: partial(_arithmetic, name) for name in ("Add", "Sub", "Mul", "Div")},
    **{name: partial(_variadic, name) for name in ("Max", "Min", "Sum", "Mean")},
    **{name: partial(_compare, name) for name in ("Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual")},
    **{name: partial(_logical, name) for name in ("And", "Or", "Xor", "Not")},
    **{name: partial(_bitwise, name) for name in ("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot")},
    **{name: partial(_identity, name) for name in ("Identity", "Dropout")},
    "Mod": _mod,
    "Pow": _pow,
    "BitShift": _shift,
    "Where": _where,
    "Clip": _clip,
    "SwiGLU": _swiglu,
    "PRelu": _prelu,
    "Cast": _cast,
    "CastLike": _cast_like,
    "QuantizeLinear": _quantize,
    "DequantizeLinear": _dequantize,
    "DynamicQuantizeLinear": _dynamic_quantize,
    "Cast of codes": _powers,
}
"""Operator -> what draws it; a name with spaces is another way to draw the operator of its first word."""
