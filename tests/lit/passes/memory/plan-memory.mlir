// RUN: aotc-opt %s -p plan-memory --split-input-file | filecheck %s
// RUN: aotc-opt %s -p 'plan-memory{in-place=false order=given alignment=64}' --split-input-file | filecheck %s --check-prefix=PLAIN

// An in-place kernel takes over its dying operand; the shared buffer is reported once, with both nodes.

// CHECK:       builtin.module attributes {aot.plan = {peak_bytes = 260 : i64, lower_bound_bytes = 260 : i64, optimal = true, alignment = 16 : i64,
// CHECK-SAME:    order = ["Conv_0", "Relu_1+Clip_2", "Gemm_3", "Softmax_4"],
// CHECK-SAME:    buffers = [{name = "Conv_0", offset = 0 : i64, size = 256 : i64, first = 0 : i64, last = 2 : i64, nodes = ["Conv_0", "Relu_1", "Clip_2"]},
// CHECK-SAME:               {name = "Gemm_3", offset = 256 : i64, size = 4 : i64, first = 2 : i64, last = 3 : i64, nodes = ["Gemm_3"]}],
// CHECK-SAME:    outputs = [{name = "", offset = 0 : i64, size = 32 : i64, first = 3 : i64, last = 3 : i64, nodes = ["Softmax_4"]}],
// CHECK-SAME:    values = [{buffer = 0 : i64, size = 256 : i64}, {buffer = 0 : i64, size = 256 : i64}, {buffer = 1 : i64, size = 4 : i64}, {buffer = 2 : i64, size = 32 : i64}],
// CHECK-SAME:    tasks = [{writes = [{value = 0 : i64, start = 0 : i64, end = 256 : i64}]},
// CHECK-SAME:             {reads = [{value = 0 : i64, start = 0 : i64, end = 256 : i64}], writes = [{value = 1 : i64, start = 0 : i64, end = 256 : i64}], in_place = array<i64: 0>},
// CHECK-SAME:             {reads = [{value = 1 : i64, start = 0 : i64, end = 256 : i64}], writes = [{value = 2 : i64, start = 0 : i64, end = 4 : i64}]},
// CHECK-SAME:             {reads = [{value = 2 : i64, start = 0 : i64, end = 4 : i64}], writes = [{value = 3 : i64, start = 0 : i64, end = 32 : i64}]}]}} {
// CHECK:         func.func private @conv(%{{.*}}: memref<64xf32>, %{{.*}}: memref<64xf32>) attributes
// CHECK:         func.func private @relu(%{{.*}}: memref<64xf32> {aot.may_alias}, %{{.*}}: memref<64xf32> {aot.may_alias}) attributes
// CHECK:         func.func private @gemm(%{{.*}}: memref<8x8xf32>, %{{.*}}: memref<1xf32>) attributes
// CHECK:         func.func @main(%x: {{.*}}, %y: {{.*}}) attributes {aot.entry} {
// CHECK-NEXT:      %ws = aot.workspace : memref<260xi8>
// CHECK-NEXT:      %{{.*}} = arith.constant 0 : index
// CHECK-NEXT:      %a = memref.view %ws[%{{.*}}][] : memref<260xi8> to memref<64xf32>
// CHECK-NEXT:      %{{.*}} = arith.constant 256 : index
// CHECK-NEXT:      %c = memref.view %ws[%{{.*}}][] : memref<260xi8> to memref<1xf32>
// CHECK-NEXT:      %v = memref.reinterpret_cast %a to offset: [0]
// CHECK-NEXT:      func.call @conv(%x, %a)
// CHECK-NEXT:      func.call @relu(%a, %a)
// CHECK-NEXT:      func.call @gemm(%v, %c)
// CHECK-NEXT:      func.call @softmax(%c, %y)
// CHECK-NEXT:      func.return

// PLAIN:       peak_bytes = 512 : i64
// PLAIN-SAME:  alignment = 64 : i64
// PLAIN-NOT:   aot.may_alias
// PLAIN:       func.call @relu(%a, %b)

func.func private @conv(%0: memref<64xf32>, %1: memref<64xf32>) attributes {aot.kernel, aot.in_place = [[]]} { func.return }
func.func private @relu(%0: memref<64xf32>, %1: memref<64xf32>) attributes {aot.kernel, aot.in_place = [[0]]} { func.return }
func.func private @gemm(%0: memref<8x8xf32>, %1: memref<1xf32>) attributes {aot.kernel, aot.in_place = [[]]} { func.return }
func.func private @softmax(%0: memref<1xf32>, %1: memref<8xf32>) attributes {aot.kernel, aot.in_place = [[]]} { func.return }
func.func @main(%x: memref<64xf32> {aot.io = "input"}, %y: memref<8xf32> {aot.io = "output"}) attributes {aot.entry} {
  %a = memref.alloc() : memref<64xf32>
  func.call @conv(%x, %a) : (memref<64xf32>, memref<64xf32>) -> () loc("Conv_0")
  %b = memref.alloc() : memref<64xf32>
  func.call @relu(%a, %b) : (memref<64xf32>, memref<64xf32>) -> () loc(fused["Relu_1", "Clip_2"])
  %v = memref.reinterpret_cast %b to offset: [0], sizes: [8, 8], strides: [8, 1] : memref<64xf32> to memref<8x8xf32>
  %c = memref.alloc() : memref<1xf32>
  func.call @gemm(%v, %c) : (memref<8x8xf32>, memref<1xf32>) -> () loc("Gemm_3")
  func.call @softmax(%c, %y) : (memref<1xf32>, memref<8xf32>) -> () loc("Softmax_4")
  func.return
}

// -----

// The chain that ends in an output lives in the output; nothing is left for a workspace.

// CHECK:       peak_bytes = 0 : i64
// CHECK:       func.func private @relu(%{{.*}}: memref<2x4xf32> {aot.may_alias}, %{{.*}}: memref<2x4xf32> {aot.may_alias})
// CHECK-NOT:   aot.workspace
// CHECK:       %[[A:.*]] = memref.reinterpret_cast %y to offset: [0], sizes: [2, 4], strides: [4, 1] : memref<8xf32> to memref<2x4xf32>
// CHECK-NEXT:  %[[Y:.*]] = memref.reinterpret_cast %y
// CHECK-NEXT:  func.call @relu(%x, %[[A]])
// CHECK-NEXT:  func.call @relu(%[[A]], %[[Y]])

func.func private @relu(%0: memref<2x4xf32>, %1: memref<2x4xf32>) attributes {aot.kernel, aot.in_place = [[0]]} { func.return }
func.func @main(%x: memref<2x4xf32> {aot.io = "input"}, %y: memref<8xf32> {aot.io = "output"}) attributes {aot.entry} {
  %0 = memref.reinterpret_cast %y to offset: [0], sizes: [2, 4], strides: [4, 1] : memref<8xf32> to memref<2x4xf32>
  %1 = memref.alloc() : memref<2x4xf32>
  func.call @relu(%x, %1) : (memref<2x4xf32>, memref<2x4xf32>) -> ()
  func.call @relu(%1, %0) : (memref<2x4xf32>, memref<2x4xf32>) -> ()
  func.return
}

// -----

// Weights and inputs are not taken, nor an operand of which another operand is a part that is read elsewhere.

// CHECK:       peak_bytes = 96 : i64
// CHECK-NOT:   may_alias
// CHECK:       func.call @add(%x, %w, %a)
// CHECK-NEXT:  func.call @shift(%a, %{{.*}}, %b)

func.func private @add(%0: memref<12xf32>, %1: memref<12xf32>, %2: memref<12xf32>) attributes {aot.kernel, aot.in_place = [[0, 1]]} { func.return }
func.func private @shift(%0: memref<12xf32>, %1: memref<6xf32>, %2: memref<12xf32>) attributes {aot.kernel, aot.in_place = [[0]]} { func.return }
func.func private @sum(%0: memref<12xf32>, %1: memref<1xf32>) attributes {aot.kernel, aot.in_place = [[]]} { func.return }
func.func @main(%x: memref<12xf32> {aot.io = "input"}, %y: memref<1xf32> {aot.io = "output"}) attributes {aot.entry} {
  %w = aot.weight "w" : memref<12xf32>
  %a = memref.alloc() : memref<12xf32>
  func.call @add(%x, %w, %a) : (memref<12xf32>, memref<12xf32>, memref<12xf32>) -> ()
  %tail = memref.reinterpret_cast %a to offset: [6], sizes: [6], strides: [1] : memref<12xf32> to memref<6xf32>
  %b = memref.alloc() : memref<12xf32>
  func.call @shift(%a, %tail, %b) : (memref<12xf32>, memref<6xf32>, memref<12xf32>) -> ()
  func.call @sum(%b, %y) : (memref<12xf32>, memref<1xf32>) -> ()
  func.return
}

// -----

// Two big intermediates need not live together: the calls are reordered, and say so in the plan.

// CHECK:       peak_bytes = 420 : i64
// CHECK-SAME:  order = ["a", "b", "c", "d", "join"]
// CHECK:       func.call @grow(%x, %a)
// CHECK-NEXT:  func.call @shrink(%a, %b)
// CHECK-NEXT:  func.call @grow(%x, %c)
// CHECK-NEXT:  func.call @shrink(%c, %d)
// CHECK-NEXT:  func.call @join(%b, %d, %y)

// PLAIN:       order = ["a", "c", "b", "d", "join"]

func.func private @grow(%0: memref<4xf32>, %1: memref<100xf32>) attributes {aot.kernel, aot.in_place = [[]]} { func.return }
func.func private @shrink(%0: memref<100xf32>, %1: memref<1xf32>) attributes {aot.kernel, aot.in_place = [[]]} { func.return }
func.func private @join(%0: memref<1xf32>, %1: memref<1xf32>, %2: memref<1xi32>) attributes {aot.kernel, aot.in_place = [[]]} { func.return }
func.func @main(%x: memref<4xf32> {aot.io = "input"}, %y: memref<1xi32> {aot.io = "output"}) attributes {aot.entry} {
  %a = memref.alloc() : memref<100xf32>
  func.call @grow(%x, %a) : (memref<4xf32>, memref<100xf32>) -> () loc("a")
  %c = memref.alloc() : memref<100xf32>
  func.call @grow(%x, %c) : (memref<4xf32>, memref<100xf32>) -> () loc("c")
  %b = memref.alloc() : memref<1xf32>
  func.call @shrink(%a, %b) : (memref<100xf32>, memref<1xf32>) -> () loc("b")
  %d = memref.alloc() : memref<1xf32>
  func.call @shrink(%c, %d) : (memref<100xf32>, memref<1xf32>) -> () loc("d")
  func.call @join(%b, %d, %y) : (memref<1xf32>, memref<1xf32>, memref<1xi32>) -> () loc("join")
  func.return
}
