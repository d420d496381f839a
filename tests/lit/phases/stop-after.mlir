// One model through the phases; each stops where the next begins.
// RUN: rm -rf %t && mkdir -p %t
// RUN: aotc compile --target x86-64-v3 %S/../../models/data/hello_world_float/model.onnx --name sine -o %t --stop-after import
// RUN: filecheck %s --check-prefix IMPORT --input-file %t/sine.import.mlir
// RUN: aotc compile --target x86-64-v3 %S/../../models/data/hello_world_float/model.onnx --name sine -o %t --stop-after schedule
// RUN: filecheck %s --check-prefix SCHEDULE --input-file %t/sine.schedule.mlir
// RUN: aotc compile --target x86-64-v3 %t/sine.schedule.mlir --start-at schedule -o %t --stop-after fuse
// RUN: filecheck %s --check-prefix FUSE --input-file %t/sine.fuse.mlir
// RUN: aotc compile --target x86-64-v3 %t/sine.fuse.mlir --start-at fuse -o %t --stop-after outline
// RUN: filecheck %s --check-prefix OUTLINE --input-file %t/sine.outline.mlir
// RUN: aotc compile --target x86-64-v3 %t/sine.outline.mlir --start-at outline -o %t --stop-after plan
// RUN: filecheck %s --check-prefix PLAN --input-file %t/sine.plan.mlir
// RUN: aotc compile --target x86-64-v3 %t/sine.plan.mlir --start-at plan -o %t --stop-after loops
// RUN: filecheck %s --check-prefix LOOPS --input-file %t/sine.loops.mlir
// RUN: aotc compile --target x86-64-v3 %t/sine.loops.mlir --start-at loops -o %t --emit c
// RUN: filecheck %s --check-prefix C --input-file %t/sine.c

// IMPORT:      builtin.module attributes {aot.name = "sine", aot.target = "x86-64-v3", aot.model_sha256 = "{{[0-9a-f]+}}"} {
// IMPORT-NEXT: func.func @main(%{{.*}}: tensor<1x1xf32> {aot.name = "serving_default_dense_input_0", aot.dtype = "float32"}
// IMPORT:      graph.matmul
// IMPORT-NOT:  graph.fused

// SCHEDULE:     graph.packed_matmul {{.*}}schedule = #graph.matmul_schedule<lanes = 8, mr = 1, nr = 2,
// SCHEDULE-NOT: graph.fused

// FUSE:      graph.fused
// FUSE-NEXT:   graph.packed_matmul
// FUSE-NEXT:   graph.add
// FUSE:        graph.relu
// FUSE:        graph.yield

// OUTLINE-DAG: func.func private @packed_matmul_add_relu_0({{.*}}) -> tensor<1x16xf32>
// OUTLINE-DAG: func.call @packed_matmul_add_relu_0

// PLAN:     aot.plan
// PLAN:     func.func @main
// PLAN:     aot.workspace : memref<{{[0-9]+}}xi8>
// PLAN:     memref.view
// PLAN-NOT: memref.alloc

// LOOPS:     func.func private @packed_matmul_add_relu_0
// LOOPS:     aot.tile_load
// LOOPS-NOT: graph.packed_matmul

// C: int32_t aotc_sine_run(const float *{{.*}}, float *restrict {{.*}})
