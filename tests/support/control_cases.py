"""Models with If, Loop and Scan: small ones for one property each, and ones such as people have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from onnx import ModelProto, numpy_helper, parser

from aotc.dialects.arrays import Array


@dataclass(frozen=True)
class Case:
    """A model in ONNX's text form, and what it is given."""

    name: str
    text: str
    feeds: tuple[dict[str, Array], ...]
    opset: int = 17
    weights: Mapping[str, Array] = field(default_factory=dict[str, Array])
    """Values of initializers that the text names only."""

    @property
    def model(self) -> ModelProto:
        """The model, checked by nobody."""
        model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : {self.opset}]>\n{self.text}')
        declared = {value.name: value for value in model.graph.value_info}
        for name, array in self.weights.items():
            model.graph.initializer.append(numpy_helper.from_array(array, name))
            model.graph.value_info.remove(declared[name])
        return model


def _random(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def _both(**values: Array) -> tuple[dict[str, Array], ...]:
    """Feeds for both values of the condition `c`."""
    return tuple({"c": np.array(c), **values} for c in (True, False))


CASES = [
    Case(
        "if with captures",
        """m (bool c, float[4, 8] x, float[8, 8] w) => (float[4, 8] y) {
            h = Relu(x)
            b = If(c) <
                then_branch = t () => (float[4, 8] p) { q = MatMul(h, w)  p = Add(q, x) },
                else_branch = e () => (float[4, 8] p) { p = Sub(h, x) }
            >
            y = Mul(b, h)
        }""",
        _both(x=_random(4, 8), w=_random(8, 8)),
    ),
    Case(
        "if that hands on an input, a constant and twice the same",
        """m (bool c, float[6] x) => (float[6] y, float[6] z, float[6] v, float[1] w) <float[1] k = {3}> {
            y, z, v, w = If(c) <
                then_branch = t () => (float[6] a, float[6] b, float[6] d, float[1] e)
                    { a = Identity(x)  b = Exp(x)  d = Identity(b)  e = Identity(k) },
                else_branch = f () => (float[6] a, float[6] b, float[6] d, float[1] e)
                    { a = Neg(x)  b = Identity(x)  d = Identity(x)  e = Constant<value_floats = [4.0]>() }
            >
        }""",
        _both(x=_random(6)),
    ),
    Case(
        "nested if",
        """m (bool c, bool[1] d, float[2, 3] x) => (float[2, 3] y) {
            s = Exp(x)
            y = If(c) <
                then_branch = t () => (float[2, 3] p) {
                    u = Add(x, s)
                    v = If(d) <
                        then_branch = tt () => (float[2, 3] q) { q = Mul(u, s) },
                        else_branch = te () => (float[2, 3] q) { q = Sub(u, x) }
                    >
                    p = Tanh(v)
                },
                else_branch = e () => (float[2, 3] p) { p = Relu(x) }
            >
        }""",
        tuple({"c": np.array(c), "d": np.array([d]), "x": _random(2, 3)} for c in (True, False) for d in (True, False)),
    ),
    Case(
        "loop that only counts",
        """m (float[5] x, float[5, 5] w) => (float[5] y, float[40, 5] s) <int64 n = {40}, bool t = {1}> {
            y, s = Loop(n, t, x) <
                body = b (int64 i, bool go, float[5] v) => (bool go_on, float[5] next, float[5] out) {
                    go_on = Identity(go)
                    f = Cast<to = 1>(i)
                    a = MatMul(v, w)
                    g = Add(a, f)
                    next = Tanh(g)
                    out = Mul(next, f)
                }
            >
        }""",
        ({"x": _random(5), "w": _random(5, 5)},),
    ),
    Case(
        "loop with a count at run time",
        """m (int64 n, float[5] x) => (float[5] y) {
            y = Loop(n, , x) <
                body = b (int64 i, bool go, float[5] v) => (bool go_on, float[5] next) {
                    go_on = Identity(go)
                    h = Sin(v)
                    next = Add(h, x)
                }
            >
        }""",
        tuple({"n": np.array(n), "x": _random(5)} for n in (0, 1, 7, -3)),
    ),
    Case(
        "loop with an early exit",
        """m (int64 n, bool c, float[1] x) => (float[1] y, int64 k)
            <float limit = {100}, int64 zero = {0}, int64 one = {1}> {
            y, k = Loop(n, c, x, zero) <
                body = b (int64 i, bool go, float[1] v, int64 count) => (bool go_on, float[1] next, int64 counted) {
                    next = Add(v, v)
                    size = Abs(next)
                    counted = Add(count, one)
                    some = ReduceMax<keepdims = 0>(size)
                    go_on = Less(some, limit)
                }
            >
        }""",
        tuple(
            {"n": np.array(n), "c": np.array(c), "x": np.array([1.5], np.float32)}
            for n, c in ((100, True), (3, True), (100, False), (0, True), (2**62, True))
        ),
    ),
    Case(
        "values that change places",
        """m (int64 n, float[3] x, float[3] y) => (float[3] p, float[3] q) {
            p, q = Loop(n, , x, y) <
                body = b (int64 i, bool go, float[3] a, float[3] b) => (bool go_on, float[3] c, float[3] d) {
                    go_on = Identity(go)
                    c = Identity(b)
                    d = Add(a, b)
                }
            >
        }""",
        tuple({"n": np.array(n), "x": _random(3), "y": _random(3) + 1} for n in (0, 1, 2, 9)),
    ),
    Case(
        "state that only some iterations change",
        """m (int64 n, float[4] x) => (float[4] y) <int64 two = {2}, int64 zero = {0}> {
            y = Loop(n, , x) <
                body = b (int64 i, bool go, float[4] v) => (bool go_on, float[4] next) {
                    go_on = Identity(go)
                    r = Mod(i, two)
                    even = Equal(r, zero)
                    next = If(even) <
                        then_branch = t () => (float[4] p) { q = Mul(v, v)  p = Add(q, x) },
                        else_branch = e () => (float[4] p) { p = Identity(v) }
                    >
                }
            >
        }""",
        tuple({"n": np.array(n), "x": _random(4) / 2} for n in (0, 3, 4)),
    ),
    Case(
        "nested loops",
        """m (float[4, 6] x, float[6, 6] w) => (float[4, 6] y, float[50, 4, 6] s)
            <int64 n = {50}, int64 k = {40}, bool t = {1}> {
            y, s = Loop(n, t, x) <
                body = b (int64 i, bool go, float[4, 6] v) => (bool go_on, float[4, 6] next, float[4, 6] out) {
                    go_on = Identity(go)
                    next = Loop(k, t, v) <
                        body = c (int64 j, bool on, float[4, 6] u) => (bool on_go, float[4, 6] later) {
                            on_go = Identity(on)
                            e = Softmax(u)
                            m = MatMul(e, w)
                            later = Sigmoid(m)
                        }
                    >
                    out = Neg(next)
                }
            >
        }""",
        ({"x": _random(4, 6), "w": _random(6, 6)},),
    ),
    Case(
        "scan forward and backward",
        """m (float[3] a, float[7, 3] x, float[3, 7, 2] z) => (float[3] b, float[3, 7] p, float[7, 3, 2] q) {
            b, p, q = Scan<num_scan_inputs = 2, scan_input_axes = [0, 1], scan_input_directions = [1, 0],
                           scan_output_axes = [-1, 0], scan_output_directions = [0, 1],
                body = b (float[3] s, float[3] u, float[3, 2] w) => (float[3] t, float[3] v, float[3, 2] r) {
                    t = Add(s, u)
                    v = Mul(t, u)
                    e = Exp(w)
                    r = Sub(e, w)
                }
            > (a, x, z)
        }""",
        ({"a": _random(3), "x": _random(7, 3), "z": _random(3, 7, 2)},),
    ),
    Case(
        "scan of version 8",
        """m (float[2, 3] a, float[2, 5, 3] x) => (float[2, 3] b, float[2, 5, 3] p) {
            b, p = Scan<num_scan_inputs = 1, directions = [1],
                body = b (float[3] s, float[3] u) => (float[3] t, float[3] v) {
                    t = Add(s, u)
                    v = Mul(t, u)
                }
            > ("", a, x)
        }""",
        ({"a": _random(2, 3), "x": _random(2, 5, 3)},),
        opset=8,
    ),
    Case(
        "what is known, handed on, unread and the same in every iteration",
        """m (bool c, float[3] x, float[3] k) => (float[3] y, float[3] z, float[6, 3] s)
            <int64 n = {6}, int64 one = {1}, bool t = {1}, float[3] w = {1, 2, 3}> {
            y, z, unread, s, forgotten = Loop(n, t, x, k, x) <
                body = b (int64 i, bool go, float[3] v, float[3] same, float[3] old)
                    => (bool go_on, float[3] next, float[3] as_it_is, float[3] new, float[3] out, float[3] lost) {
                    go_on = Identity(go)
                    as_it_is = Identity(same)
                    e = Exp(k)
                    f = Mul(e, w)
                    g = Add(f, same)
                    next = Add(v, g)
                    new = Mul(old, v)
                    out = Loop(one, t, next) <
                        body = o (int64 j, bool on, float[3] u) => (bool on_go, float[3] r)
                            { on_go = Identity(on)  h = Cast<to = 1>(j)  q = Add(u, h)  r = Tanh(q) }
                    >
                    lost = Sin(next)
                }
            >
        }""",
        ({"c": np.array(True), "x": _random(3), "k": _random(3)},),
    ),
    Case(
        "an lstm for each of two rates",
        """m (float[1, 256] x, float[1, 1, 64] h, float[1, 1, 64] c, int64 rate)
            => (float[1, 1] p, float[1, 1, 64] hn, float[1, 1, 64] cn)
            <int64 fast = {16000}, float[256, 64] w, float[1, 256, 64] wi, float[1, 256, 64] r, float[1, 512] b,
             float[64, 1] o, int64[1] zero = {0}, float[32, 1, 4] k> {
            is_fast = Equal(rate, fast)
            p, hn, cn = If(is_fast) <
                then_branch = t () => (float[1, 1] q, float[1, 1, 64] hq, float[1, 1, 64] cq) {
                    f = MatMul(x, w)
                    g = Relu(f)
                    s = Unsqueeze(g, zero)
                    y, hq, cq = LSTM<hidden_size = 64>(s, wi, r, b, "", h, c)
                    u = Squeeze(hq, zero)
                    v = MatMul(u, o)
                    q = Sigmoid(v)
                },
                else_branch = e () => (float[1, 1] q, float[1, 1, 64] hq, float[1, 1, 64] cq) {
                    shape = Constant<value_ints = [1, 1, 64]>()
                    xx = Unsqueeze(x, zero)
                    f = Conv<strides = [4]>(xx, k)
                    g = ReduceMean<axes = [1], keepdims = 1>(f)
                    s = Reshape(g, shape)
                    y, hq, cq = LSTM<hidden_size = 64>(s, wi, r, b, "", h, c)
                    u = Squeeze(hq, zero)
                    v = MatMul(u, o)
                    q = Sigmoid(v)
                }
            >
        }""",
        tuple(
            {"x": _random(1, 256), "h": _random(1, 1, 64), "c": _random(1, 64, 1).reshape(1, 1, 64), "rate": rate}
            for rate in (np.array(16000), np.array(8000))
        ),
        weights={
            "w": _random(256, 64) / 16,
            "wi": _random(1, 256, 64) / 8,
            "r": _random(1, 64, 256).reshape(1, 256, 64) / 8,
            "b": _random(1, 512),
            "o": _random(64, 1),
            "k": _random(32, 1, 4),
        },
    ),
    Case(
        "a gru by scan",
        """m (float[16, 200] h, float[9, 16, 120] x) => (float[16, 200] last, float[9, 16, 200] y)
            <float[120, 400] w, float[200, 400] r, float[120, 200] wn, float[200, 200] rn, float one = {1}> {
            last, y = Scan<num_scan_inputs = 1,
                body = step (float[16, 200] s, float[16, 120] u) => (float[16, 200] t, float[16, 200] out) {
                    a = MatMul(u, w)
                    b = MatMul(s, r)
                    g = Add(a, b)
                    gates = Sigmoid(g)
                    z, keep = Split<axis = 1>(gates)
                    reset = Mul(keep, s)
                    c = MatMul(u, wn)
                    d = MatMul(reset, rn)
                    e = Add(c, d)
                    n = Tanh(e)
                    left = Sub(one, z)
                    p = Mul(left, n)
                    q = Mul(z, s)
                    t = Add(p, q)
                    out = Identity(t)
                }
            > (h, x)
        }""",
        ({"h": _random(16, 200), "x": _random(9, 16, 120)},),
        weights={
            "w": _random(120, 400) / 16,
            "r": _random(200, 400) / 16,
            "wn": _random(120, 200) / 16,
            "rn": _random(200, 200) / 16,
        },
    ),
    Case(
        "images until one is bright",
        """m (int64 n, float[1, 8, 48, 48] x) => (float[1, 8, 48, 48] y, float level)
            <float[8, 8, 3, 3] w, float limit = {5}, float zero = {0}, bool t = {1}> {
            y, level = Loop(n, t, x, zero) <
                body = b (int64 i, bool go, float[1, 8, 48, 48] v, float before)
                    => (bool go_on, float[1, 8, 48, 48] next, float now) {
                    c = Conv<pads = [1, 1, 1, 1]>(v, w)
                    r = Relu(c)
                    d = Conv<pads = [1, 1, 1, 1]>(r, w)
                    next = Add(d, v)
                    now = ReduceMax<keepdims = 0>(next)
                    go_on = Less(now, limit)
                }
            >
        }""",
        tuple({"n": np.array(n), "x": _random(1, 8, 48, 48)} for n in (1, 2, 40)),
        weights={"w": _random(8, 8, 3, 3) / 8},
    ),
    Case(
        "everything at once",
        """m (bool c, int64 n, float[3, 4] x, float[5, 3, 4] z) => (float[3, 4] y, float[5, 3, 4] s)
            <float limit = {3}, int64 two = {2}, int64 zero = {0}> {
            a, s = Scan<num_scan_inputs = 1, scan_input_directions = [1],
                body = f (float[3, 4] u, float[3, 4] e) => (float[3, 4] t, float[3, 4] o)
                    { p = Add(u, e)  t = Tanh(p)  o = Mul(t, x) }
            > (x, z)
            y = Loop(n, c, a) <
                body = b (int64 i, bool go, float[3, 4] v) => (bool go_on, float[3, 4] next) {
                    r = Mod(i, two)
                    even = Equal(r, zero)
                    next = If(even) <
                        then_branch = t () => (float[3, 4] p) { q = Exp(v)  p = Softmax(q) },
                        else_branch = e () => (float[3, 4] p) { q = Add(v, a)  p = Add(q, x) }
                    >
                    top = ReduceMax<keepdims = 0>(next)
                    go_on = Less(top, limit)
                }
            >
        }""",
        tuple(
            {"c": np.array(c), "n": np.array(n), "x": _random(3, 4), "z": _random(5, 3, 4)}
            for c, n in ((True, 1), (True, 6), (False, 6))
        ),
    ),
]
