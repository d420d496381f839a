// RUN: aotc-opt %s -p plan-memory | filecheck %s

// Two parts of a buffer share no byte; a kernel that is called with one buffer twice may see what it writes.
// CHECK: func.func private @parts(memref<8xf32>, memref<8xf32>) -> () attributes {aot.kernel, aot.in_place = {{\[\[\]\]}}}
// CHECK: func.func private @same({{.*}}aot.arguments = [{aot.may_alias}, {aot.may_alias}]
builtin.module {
  builtin.module {
  }
  func.func private @parts(memref<8xf32>, memref<8xf32>) -> () attributes {aot.kernel, aot.in_place = [[]]}
  func.func private @same(memref<16xf32>, memref<16xf32>) -> () attributes {aot.kernel, aot.in_place = [[]]}
  func.func private @copy(memref<16xf32>, memref<16xf32>) -> () attributes {aot.kernel, aot.in_place = [[]]}
  func.func @main(%x: memref<16xf32> {aot.io = "input"}, %y: memref<16xf32> {aot.io = "output"}) attributes {aot.entry} {
    %a = memref.alloc() : memref<16xf32>
    %low = memref.reinterpret_cast %a to offset: [0], sizes: [8], strides: [1] : memref<16xf32> to memref<8xf32>
    %high = memref.reinterpret_cast %a to offset: [8], sizes: [8], strides: [1] : memref<16xf32> to memref<8xf32>
    func.call @copy(%x, %a) : (memref<16xf32>, memref<16xf32>) -> ()
    func.call @parts(%low, %high) : (memref<8xf32>, memref<8xf32>) -> ()
    func.call @same(%a, %a) : (memref<16xf32>, memref<16xf32>) -> ()
    func.call @copy(%a, %y) : (memref<16xf32>, memref<16xf32>) -> ()
    func.return
  }
}
