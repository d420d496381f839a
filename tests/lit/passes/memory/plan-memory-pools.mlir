// RUN: aotc-opt %s -p plan-memory --split-input-file | filecheck %s
// RUN: aotc-opt %s -p 'plan-memory{io=workspace}' --split-input-file | filecheck %s --check-prefix=IO

// %b and %c are read by 36 multiply-adds for each of their elements; both live at one task, so that one of them is in
// the fast pool. %d lives after %b, in the same bytes. What is kept is used by no task.

builtin.module attributes {aot.pools = [{name = "sram", size = 4096 : i64, speed = 3.0}, {name = "dtcm", size = 600 : i64, section = ".dtcm"}]} {
  func.func private @conv(%0: memref<1x4x6x6xf32>, %1: memref<4x4x3x3xf32>, %2: memref<1x4x6x6xf32>) attributes {aot.kernel, aot.in_place = [[]]} {
    %x = bufferization.to_tensor %0 : memref<1x4x6x6xf32> to tensor<1x4x6x6xf32>
    %w = bufferization.to_tensor %1 : memref<4x4x3x3xf32> to tensor<4x4x3x3xf32>
    %y = graph.conv %x, %w {pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x4x6x6xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x6x6xf32>
    bufferization.materialize_in_destination %y in writable %2 : (tensor<1x4x6x6xf32>, memref<1x4x6x6xf32>) -> ()
    func.return
  }
  func.func private @neg(memref<1x4x6x6xf32>, memref<1x4x6x6xf32>) attributes {aot.kernel, aot.in_place = [[]]}
  func.func private @sum(memref<1x4x6x6xf32>, memref<4xf32>) attributes {aot.kernel, aot.in_place = [[]]}
  func.func @main(%x: memref<1x4x6x6xf32> {aot.io = "input", aot.name = "x", aot.dtype = "float32"}, %h: memref<8xf32> {aot.io = "state", aot.name = "h", aot.dtype = "float32", aot.next = "hn"}, %y: memref<4xf32> {aot.io = "output", aot.name = "y", aot.dtype = "float32"}) attributes {aot.entry} {
    %w = aot.weight "w" : memref<4x4x3x3xf32>
    %a = memref.alloc() : memref<1x4x6x6xf32>
    func.call @neg(%x, %a) : (memref<1x4x6x6xf32>, memref<1x4x6x6xf32>) -> () loc("A")
    %b = memref.alloc() : memref<1x4x6x6xf32>
    func.call @neg(%a, %b) : (memref<1x4x6x6xf32>, memref<1x4x6x6xf32>) -> () loc("B")
    %c = memref.alloc() : memref<1x4x6x6xf32>
    func.call @conv(%b, %w, %c) : (memref<1x4x6x6xf32>, memref<4x4x3x3xf32>, memref<1x4x6x6xf32>) -> () loc("C")
    %d = memref.alloc() : memref<1x4x6x6xf32>
    func.call @conv(%c, %w, %d) : (memref<1x4x6x6xf32>, memref<4x4x3x3xf32>, memref<1x4x6x6xf32>) -> () loc("D")
    func.call @sum(%d, %y) : (memref<1x4x6x6xf32>, memref<4xf32>) -> () loc("E")
    func.return
  }
}

// CHECK:      aot.plan = {peak_bytes = 1184 : i64, lower_bound_bytes = 1184 : i64, optimal = true
// CHECK-SAME: {name = "A", offset = [[A:\d+]] : i64, size = 576 : i64, first = 0 : i64, last = 1 : i64, nodes = ["A"], pool = "sram"}
// CHECK-SAME: {name = "B", offset = 0 : i64, size = 576 : i64, first = 1 : i64, last = 2 : i64, nodes = ["B"], pool = "dtcm"}
// CHECK-SAME: {name = "C", offset = [[A]] : i64, size = 576 : i64, first = 2 : i64, last = 3 : i64, nodes = ["C"], pool = "sram"}
// CHECK-SAME: {name = "D", offset = 0 : i64, size = 576 : i64, first = 3 : i64, last = 4 : i64, nodes = ["D"], pool = "dtcm"}
// CHECK-SAME: pools = [{name = "sram", size = 4096 : i64, speed = 3.000000e+00 : f64, peak_bytes = 608 : i64, lower_bound_bytes = 608 : i64}, {name = "dtcm", size = 600 : i64, section = ".dtcm", peak_bytes = 576 : i64, lower_bound_bytes = 576 : i64}]
// CHECK:      aot.states = [{aot.io = "state", aot.name = "h", {{.*}} aot.pool = "sram"}]
// CHECK-NEXT:   %sram = aot.workspace "sram" : memref<608xi8>
// CHECK-NEXT:   %dtcm = aot.workspace "dtcm" : memref<576xi8>
// CHECK:        %b = memref.view %dtcm[%{{.*}}][] : memref<576xi8>
// CHECK:        %c = memref.view %sram[%{{.*}}][] : memref<608xi8>

// IO:      func.func @main() attributes {aot.entry, aot.states = [{{{.*}} aot.pool = "sram"}],
// IO-SAME: aot.tensors = [{aot.io = "input", aot.name = "x", {{.*}} aot.offset = 0 : i64, aot.pool = "dtcm"},
// IO-SAME: {aot.io = "output", aot.name = "y", {{.*}}, aot.offset = 576 : i64, aot.pool = "dtcm"}]

// -----

// What is to be in a pool is there, and not in the memory of an output.

// CHECK: buffers = [{name = "A", offset = {{\d+}} : i64, size = 256 : i64, first = 0 : i64, last = 1 : i64, nodes = ["A"], pool = "slow"},
// CHECK-SAME: {name = "B", offset = {{\d+}} : i64, size = 256 : i64, first = 1 : i64, last = 2 : i64, nodes = ["B"], pool = "slow"}]
builtin.module attributes {aot.pools = [{name = "fast", size = 4096 : i64}, {name = "slow", size = 4096 : i64, speed = 3.0}], aot.pins = {"A" = "slow", "B" = "slow"}} {
  func.func private @neg(memref<64xf32>, memref<64xf32>) attributes {aot.kernel, aot.in_place = [[]]}
  func.func @main(%x: memref<64xf32> {aot.io = "input", aot.name = "x", aot.dtype = "float32"}, %y: memref<64xf32> {aot.io = "output", aot.name = "y", aot.dtype = "float32"}) attributes {aot.entry} {
    %a = memref.alloc() : memref<64xf32>
    func.call @neg(%x, %a) : (memref<64xf32>, memref<64xf32>) -> () loc("A")
    %b = memref.alloc() : memref<64xf32>
    func.call @neg(%a, %b) : (memref<64xf32>, memref<64xf32>) -> () loc("B")
    func.call @neg(%b, %y) : (memref<64xf32>, memref<64xf32>) -> () loc("C")
    func.return
  }
}
