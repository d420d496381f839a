// RUN: aotc-opt %s -p 'convert-entry-to-vm' --split-input-file | filecheck %s

// The first output is the result. Arguments of unknown extents are not looked at, nor are those that are neither input
// nor output.
// CHECK-LABEL: vm.func @outputs(%s: !vm.reg, %y: !vm.reg, %x: !vm.reg, %z: !vm.reg) {
// CHECK-NOT:     vm.builtin.match_tensor"(%{{[sx]}},
// CHECK:         vm.call "f"(%s, %y, %x, %z)
// CHECK-NEXT:    vm.return %y : !vm.reg
builtin.module {
}
func.func @outputs(%s: memref<4xf32>, %y: memref<4xf32> {aot.io = "output"}, %x: memref<?xf32> {aot.io = "input"}, %z: memref<4xf32> {aot.io = "output"}) attributes {aot.entry} {
  func.call @f(%s, %y, %x, %z) : (memref<4xf32>, memref<4xf32>, memref<?xf32>, memref<4xf32>) -> ()
  func.return
}
func.func private @f(memref<4xf32>, memref<4xf32>, memref<?xf32>, memref<4xf32>)

// -----

// A part of the workspace that is chosen when it runs is a view of a place. Integers have a sign, conditions have none.
// CHECK-LABEL: vm.func @places(%n: !vm.reg) {
// CHECK:         [[P:%.*]] = vm.place 0 : memref<16xi8>
// CHECK:         {{%.*}} = vm.immediate 1
// CHECK:         {{%.*}} = vm.immediate -3
// CHECK:         vm.call "vm.builtin.view"([[P]],
func.func @places(%n: memref<i64>) attributes {aot.entry} {
  %ws = aot.workspace : memref<16xi8>
  %true = arith.constant true
  %c = arith.constant -3 : i64
  %0 = memref.load %n[] : memref<i64>
  %1 = arith.addi %0, %c : i64
  %2 = arith.index_cast %1 : i64 to index
  %r = memref.reinterpret_cast %ws to offset: [%2], sizes: [4], strides: [1] : memref<16xi8> to memref<4xi8>
  scf.if %true {
    func.call @f(%r) : (memref<4xi8>) -> ()
  }
  func.return
}
func.func private @f(memref<4xi8>)

// -----

// A view that a branch yields is handed on where the result of that is; one that it reads is not.
// CHECK-LABEL: vm.func @yielded(
// CHECK:         vm.call "g"
// CHECK:         [[KEPT:%.*]] = vm.call "vm.builtin.view"(%x,
// CHECK:         [[READ:%.*]] = vm.call "vm.builtin.view_in"({{%.*}}, %x,
// CHECK:         vm.call "f"([[READ]])
// CHECK:         vm.goto ^{{.*}}([[KEPT]] : !vm.reg)
// CHECK:         [[USED:%.*]] = vm.call "vm.builtin.view_in"({{%.*}}, %x,
// CHECK:         vm.goto ^{{.*}}([[USED]] : !vm.reg)
func.func @yielded(%x: memref<4x5xf32>, %p: memref<i1>) attributes {aot.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %t = memref.reinterpret_cast %x to offset: [0], sizes: [5], strides: [1] : memref<4x5xf32> to memref<5xf32>
  func.call @g() : () -> ()
  %s = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %t) -> (memref<5xf32>) {
    %c = memref.load %p[] : memref<i1>
    %v = memref.reinterpret_cast %x to offset: [%i], sizes: [5], strides: [1] : memref<4x5xf32> to memref<5xf32>
    %r = memref.reinterpret_cast %x to offset: [%i], sizes: [5], strides: [1] : memref<4x5xf32> to memref<5xf32>
    %b = scf.if %c -> (memref<5xf32>) {
      func.call @f(%r) : (memref<5xf32>) -> ()
      scf.yield %v : memref<5xf32>
    } else {
      scf.yield %a : memref<5xf32>
    }
    %u = memref.reinterpret_cast %x to offset: [%i], sizes: [5], strides: [1] : memref<4x5xf32> to memref<5xf32>
    %d = scf.if %c -> (memref<5xf32>) {
      scf.yield %u : memref<5xf32>
    } else {
      scf.yield %a : memref<5xf32>
    }
    func.call @f(%d) : (memref<5xf32>) -> ()
    scf.yield %b : memref<5xf32>
  }
  func.call @f(%s) : (memref<5xf32>) -> ()
  func.return
}
func.func private @f(memref<5xf32>)
func.func private @g()
