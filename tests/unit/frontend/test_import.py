"""From ONNX to the `import` phase: interface, names, constants, functions, branches, and every problem at once."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_text import Imported, parse
from xdsl.dialects.builtin import NameLoc

from aotc.errors import CompileError
from aotc.frontend.onnx import load_model, summarize, supported_operators

LOCAL = '<ir_version: 10, opset_import: ["" : 17, "local" : 1]>'


def problems(graph: str, functions: str = "", header: str = LOCAL) -> list[str]:
    with pytest.raises(CompileError) as caught:
        Imported(parse(graph, functions, header))
    return [str(problem) for problem in caught.value.problems]


def locations(imported: Imported) -> list[str]:
    return [op.location.desc.data for op in imported.operations if isinstance(op.location, NameLoc)]


def test_the_interface_of_the_module() -> None:
    imported = Imported(
        parse('g (float[2] "x/1", uint8[3] u) => (float[2] y, bool[3] z) { y = Relu("x/1") z = Cast<to=9>(u) }')
    )
    text = str(imported.module)
    assert 'builtin.module attributes {aot.name = "model"}' in text
    assert '{aot.name = "x/1", aot.dtype = "float32"}' in text
    assert '{aot.name = "u", aot.dtype = "uint8"}' in text
    assert (
        '-> (tensor<2xf32> {aot.name = "y", aot.dtype = "float32"}, tensor<3xi1> {aot.name = "z", aot.dtype = "bool"})'
        in text
    )
    assert "attributes {aot.entry}" in text


@pytest.mark.parametrize(("name", "expected"), [("kws", "kws"), ("my model-2", "my_model_2"), ("int", "int_")])
def test_the_module_name_is_a_c_identifier(name: str, expected: str) -> None:
    imported = Imported(parse("g (float[2] x) => (float[2] y) { y = Relu(x) }"), name=name)
    assert f'aot.name = "{expected}"' in str(imported.module)


def test_locations_are_node_names() -> None:
    graph = "g (float[2] x) => (float[2] y) { a = Relu(x) b = Neg(a) y = Relu(b) }"
    model = parse(graph)
    model.graph.node[1].name = "négation"
    assert locations(Imported(model)) == ["Relu_0", "n\\xe9gation", "Relu_2"]


def test_initializers_are_constants_even_among_the_inputs() -> None:
    model = parse(
        "g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}, float[1] unused = {7}> { y = Add(x, w) }"
    )
    imported = Imported(model)
    assert len(imported.function.function_type.inputs) == 1
    assert str(imported.module).count("graph.constant") == 1


def test_large_initializers_are_views_in_the_store() -> None:
    model = parse("g (float[400] x) => (float[400] y) { y = Add(x, w) }")
    array = np.arange(400, dtype=np.float32)
    model.graph.initializer.append(numpy_helper.from_array(array, "layer.0/w"))
    model.graph.node[0].input[1] = "layer.0/w"
    imported = Imported(model)
    assert list(imported.store) == ["layer.0_w"]
    np.testing.assert_array_equal(imported.store["layer.0_w"], array)
    assert imported.store["layer.0_w"].base is not None


def test_outputs_may_be_inputs_and_constants() -> None:
    imported = Imported(parse("g (float[2] x) => (float[2] x, float[2] w) <float[2] w = {1, 2}> { }"))
    assert imported.names == []
    assert "func.return %" in str(imported.module)


def test_nodes_may_stand_in_any_order() -> None:
    assert Imported(parse("g (float[2] x) => (float[2] y) { y = Neg(a) a = Relu(x) }")).names == ["relu", "neg"]


def test_nodes_that_no_output_needs_are_left_out() -> None:
    assert Imported(parse("g (float[2] x) => (float[2] y) { a = Unknown(x) b = Neg(x) y = Relu(x) }")).names == ["relu"]


def test_chains_on_shapes_fold() -> None:
    graph = """g (float[2, 3, 4] x) => (float[2, 12] y) <int64[1] minus = {-1}, int64 zero = {0}, int64[1] axis = {0}> {
        s = Shape(x)  n = Gather(s, zero)  m = Unsqueeze(n, axis)  t = Concat<axis = 0>(m, minus)  y = Reshape(x, t)
    }"""
    assert Imported(parse(graph)).names == ["reshape"]


def test_results_without_elements_are_constants() -> None:
    graph = """g (float[2, 3] x) => (float[2, 3] y) <int64[1] zero = {0}, int64[1] one = {0}> {
        e = Slice(x, zero, zero, zero)  r = Relu(e)  y = Concat<axis = 0>(r, x)
    }"""
    assert "relu" not in Imported(parse(graph)).names


# Functions


def test_functions_of_the_model_are_inlined_with_attributes() -> None:
    functions = """
        <domain: "local", opset_import: ["" : 17, "local" : 1]> outer <alpha, axis: int = 1> (x) => (y) {
            a = local.inner<factor: float = @alpha>(x)
            y = Flatten<axis: int = @axis>(a)
        }
        <domain: "local", opset_import: ["" : 17]> inner <factor> (x) => (y) {
            y = LeakyRelu<alpha: float = @factor>(x)
        }
    """
    graph = """g (float[2, 3] x) => (float[2, 3] y, float[1, 6] z) {
        y = local.outer<alpha = 0.25>(x)
        z = local.outer<alpha = 0.5, axis = 0>(x)
    }"""
    imported = Imported(parse(graph, functions, LOCAL))
    assert locations(imported)[0].startswith("outer_0/inner_0/LeakyRelu_0")
    assert "2.500000e-01" in str(imported.module) and "5.000000e-01" in str(imported.module)
    assert [str(kind) for kind in imported.function.function_type.outputs] == ["tensor<2x3xf32>", "tensor<1x6xf32>"]


def test_a_function_overrides_an_operator_and_may_leave_inputs_out() -> None:
    functions = '<domain: "", opset_import: ["" : 17]> Relu (x, low) => (y) { y = Clip(x, low) }'
    graph = "g (float[2] x) => (float[2] y) { y = Relu(x) }"
    assert "relu" not in Imported(parse(graph, functions, '<ir_version: 10, opset_import: ["" : 17]>')).names


def test_problems_inside_functions_name_the_path() -> None:
    functions = '<domain: "local", opset_import: ["" : 17]> f (x) => (y) { y = Transpose<perm = [0, 5]>(x) }'
    (problem,) = problems("g (float[2, 3] x) => (float[2, 3] y) { y = local.f(x) }", functions)
    assert problem.startswith("f_0/Transpose_0 (Transpose): ")


@pytest.mark.parametrize(
    ("node", "opset"),
    [
        ("HardSwish(x)", 14),
        ("Mish(x)", 18),
        ('Gelu<approximate = "tanh">(x)', 20),
        ("ThresholdedRelu(x)", 10),
        ("Shrink<bias = 0.1>(x)", 9),
        ("MeanVarianceNormalization<axes = [0]>(x)", 13),
        ("GroupNormalization<num_groups = 1>(x, one, one)", 21),
        ("Swish<alpha = 1.5>(x)", 24),
    ],
)
def test_operators_by_their_onnx_definition(node: str, opset: int) -> None:
    graph = f"g (float[1, 4, 8] x) => (float[1, 4, 8] y) <float[4] one = {{1, 1, 1, 1}}> {{ y = {node} }}"
    imported = Imported(parse(graph, header=f'<ir_version: 10, opset_import: ["" : {opset}]>'))
    assert imported.names
    assert len(set(locations(imported))) == 1


# Branches

IF = """g (float[2] x) => (float[2] y) <bool condition = {%d}> {
    y = If (condition) <
        then_branch = t () => (float[2] a) { a = Relu(x) },
        else_branch = e () => (float[2] b) <float[2] w = {3, 4}> { c = Neg(x)  b = Add(c, w) }
    >
}"""


def test_a_constant_condition_takes_its_branch() -> None:
    imported = Imported(parse(IF % 1))
    assert imported.names == ["relu"] and locations(imported) == ["If_0/Relu_0"]
    assert Imported(parse(IF % 0)).names == ["neg", "add"]


def test_nodes_of_a_branch_keep_their_names() -> None:
    model = parse(IF % 0)
    model.graph.node[0].attribute[1].g.node[1].name = "/branch/add"
    assert locations(Imported(model)) == ["If_0/Neg_0", "/branch/add"]


def test_a_function_may_branch_and_call_in_branches() -> None:
    functions = """
        <domain: "local", opset_import: ["" : 17, "local" : 1]> f <up> (x, w) => (y) {
            flag = Constant<value_int: int = @up> ()
            condition = Cast<to: int = 9> (flag)
            y = If (condition) <
                then_branch = t () => (float[2] a) { a = local.g<by: float = 2.0> (x) },
                else_branch = e () => (float[2] b) { b = Sub (x, w) }
            >
        }
        <domain: "local", opset_import: ["" : 17]> g <by> (x) => (y) {
            factor = Constant<value_float: float = @by> ()
            y = Mul (x, factor)
        }
    """
    graph = """g (float[2] x, float[2] w) => (float[2] y, float[2] z) {
        y = local.f<up = 1>(x, w)
        z = local.f<up = 0>(x, w)
    }"""
    imported = Imported(parse(graph, functions, LOCAL))
    assert imported.names == ["mul", "sub"]
    assert locations(imported) == ["f_0/If_2/g_0/Mul_1", "f_1/If_2/Sub_0"]


def test_deprecated_operators_are_left_to_their_importer() -> None:
    graph = """g (float[1, 4, 8] x) => (float[1, 4, 8] y) <float[2] scale = {1, 2}> {
        y = GroupNormalization<num_groups = 2>(x, scale, scale)
    }"""
    assert Imported(parse(graph, header='<ir_version: 10, opset_import: ["" : 18]>')).names


def test_a_condition_that_folds_takes_its_branch() -> None:
    graph = """g (float[1, 2] x) => (float[2] y) <int64 one = {1}, int64 zero = {0}> {
        s = Shape(x)  n = Gather(s, zero)  c = Equal(n, one)
        y = If (c) <
            then_branch = t () => (float[2] a) { a = Squeeze(x) },
            else_branch = e () => (float[1, 2] b) { b = Identity(x) }
        >
    }"""
    assert Imported(parse(graph)).names == ["reshape"]


def test_control_flow_at_run_time_has_regions() -> None:
    graph = """g (float[2] x, bool c, int64 n) => (float[2] y, float[2] z) {
        y = If (c) <
            then_branch = t () => (float[2] a) { a = Relu(x) },
            else_branch = e () => (float[2] b) { b = Neg(x) }
        >
        z = Loop (n, , x) <
            body = b (int64 i, bool k, float[2] v) => (bool k2, float[2] w) { k2 = Identity(k)  w = Relu(v) }
        >
    }"""
    assert Imported(parse(graph)).names == ["if", "loop"]


# Problems


def test_every_unsupported_node_is_listed_and_its_readers_are_not() -> None:
    graph = """g (float[2] x) => (float[2] y, float[2] z) {
        a = Nonsense(x)  b = Relu(a)  c = More(b)  d = com.acme.Op(c)  y = Add(d, x)  z = Gelu(x)
    }"""
    found = problems(graph, header='<ir_version: 10, opset_import: ["" : 17, "com.acme" : 3]>')
    assert [text.split(":")[0] for text in found] == [
        "Nonsense_0 (Nonsense)",
        "More_2 (More)",
        "Op_3 (Op)",
        "Gelu_5 (Gelu)",
    ]
    assert "no importer is installed for the domain 'com.acme'" in found[2]
    assert "Gelu does not exist in opset 17" in found[3]


def test_an_operator_set_that_is_not_imported() -> None:
    (problem,) = problems("g (float[2] x) => (float[2] y) { y = com.acme.Op(x) }")
    assert "imports no version of the operator set 'com.acme'" in problem


def test_types_are_those_of_the_operator() -> None:
    graph = "g (float[2] x, int32[2] i, double[2] d) => (float[2] y, bool[2] z) { y = Add(x, d)  z = Not(i) }"
    first, second = problems(graph)
    assert first.startswith("Add_0 (Add): ") and first.endswith("[invalid-type]")
    assert second.startswith("Not_1 (Not): ") and second.endswith("[invalid-type]")


def test_an_attribute_that_asks_for_a_type_that_is_not_supported() -> None:
    header = '<ir_version: 10, opset_import: ["" : 23]>'
    graph = """g (float[2] x, float s) => (string[2] y, float[2] z) {
        y = Cast <to = 8> (x)  z = QuantizeLinear <output_dtype = 14> (x, s)
    }"""
    first, second = problems(graph, header=header)
    assert first.startswith("Cast_0 (Cast): to = string ") and first.endswith("[unsupported-type]")
    assert second.startswith("QuantizeLinear_1 (QuantizeLinear): output_dtype = complex64 ")
    assert second.endswith("[unsupported-type]")


def test_shapes_that_do_not_fit_name_the_node() -> None:
    (problem,) = problems("g (float[2] x, float[3] w) => (float[2] y) { y = Add(x, w) }")
    assert problem.startswith("Add_0 (Add): ") and "[2] and [3]" in problem


def test_the_declared_type_of_an_output_must_be_right() -> None:
    (problem,) = problems("g (float[2] x) => (int32[2] y) { y = Relu(x) }")
    assert "output 'y' is declared as int32 and computed as float32" in problem


def test_a_result_of_unreasonable_size() -> None:
    graph = "g (float[1] x) => (float[n, m] y) <int64[2] s = {4000000, 4000000}> { y = Expand(x, s) }"
    (problem,) = problems(graph)
    assert problem.startswith("Expand_0 (Expand): ") and "2^31 or more" in problem


def test_a_constant_of_unreasonable_size() -> None:
    graph = "g (float[1] x) => (float[n] y) <int64[2] s = {4000000, 4000000}> { y = ConstantOfShape(s) }"
    (problem,) = problems(graph)
    assert problem.startswith("ConstantOfShape_0 (ConstantOfShape): ") and "2^31 or more" in problem


def test_inputs_of_other_types() -> None:
    model = parse("g (float[2] x, string[2] s) => (float[2] y) { y = Relu(x) }")
    sequence = helper.make_tensor_sequence_value_info("seq", TensorProto.FLOAT, [2])
    model.graph.input.append(sequence)
    with pytest.raises(CompileError) as caught:
        Imported(model)
    assert "input 's': tensors of type string are not supported" in str(caught.value)
    assert "input 'seq' is a sequence of unknown length" in str(caught.value)


# Around it


def test_import_is_deterministic() -> None:
    graph = 'g (float[2] x) => (float[2] y) <float[2] a = {1, 2}> { b = Gelu<approximate = "tanh">(x)  y = Add(b, a) }'
    header = '<ir_version: 10, opset_import: ["" : 20]>'
    assert len({str(Imported(parse(graph, header=header)).module) for _ in range(3)}) == 1


def test_summary() -> None:
    model = parse("g (float[n, 3] x) => (float[n, 3] y) <float[3] w = {1, 2, 3}> { a = Add(x, w)  y = Add(a, w) }")
    summary = summarize(load_model(model))
    assert summary["inputs"] == [{"name": "x", "dtype": "float32", "shape": ["n", 3]}]
    assert summary["operators"] == {"Add": 2}
    assert summary["opsets"] == {"ai.onnx": 17}
    assert (summary["parameters"], summary["weights_bytes"]) == (3, 12)
    model.graph.initializer.append(helper.make_tensor("q", TensorProto.INT4, [3], [1, 2, 3]))
    assert summarize(load_model(model))["weights_bytes"] == 12 + 2, "two to a byte, as in the file"


def test_supported_operators() -> None:
    operators = supported_operators()
    assert operators == sorted(set(operators))
    assert {"Conv", "If", "Loop", "Scan", "Relu", "HardSwish", "Gelu", "SequenceMap"} <= set(operators)
    assert not {"ImageDecoder", "StringConcat"} & set(operators)
