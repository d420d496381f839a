// RUN: rm -rf %t && mkdir -p %t
// RUN: aotc compile %S/../../models/data/hello_world_float/model.onnx -o %t --print-ir-after-all --verify-each 2>&1 | filecheck %s
// RUN: aotc compile %S/../../models/data/hello_world_float/model.onnx -o %t --time-passes 2>&1 | filecheck %s --check-prefix TIME

// CHECK: // -----// IR after infer-shapes (graph) //----- //
// CHECK: // -----// IR after outline-kernels (outline) //----- //
// CHECK: // -----// IR after lower-calls (interface) //----- //

// TIME: ms graph infer-shapes
// TIME: ms plan plan-memory
// TIME: ms total
