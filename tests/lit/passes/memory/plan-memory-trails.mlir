// RUN: aotc-opt %s -p plan-memory --split-input-file | filecheck %s

// A result that trails its operand by 16 bytes lies over it, and the kernel knows that they may be the same memory.

// CHECK:       peak_bytes = 80 : i64, lower_bound_bytes = 80 : i64
// CHECK-SAME:  trails = [{write = 0 : i64, read = 0 : i64, below = 16 : i64}]
// CHECK:       func.func private @window(%{{.*}}: memref<64xi8> {aot.may_alias}, %{{.*}}: memref<64xi8> {aot.may_alias}) attributes
func.func private @first(%0: memref<4xi8>, %1: memref<64xi8>) attributes {aot.kernel, aot.in_place = [[]]} { func.return }
func.func private @window(%0: memref<64xi8>, %1: memref<64xi8>) attributes {aot.kernel, aot.in_place = [[]], aot.trails = [[16]]} { func.return }
func.func private @last(%0: memref<64xi8>, %1: memref<4xi8>) attributes {aot.kernel, aot.in_place = [[]]} { func.return }
func.func @main(%x: memref<4xi8> {aot.io = "input"}, %y: memref<4xi8> {aot.io = "output"}) attributes {aot.entry} {
  %a = memref.alloc() : memref<64xi8>
  func.call @first(%x, %a) : (memref<4xi8>, memref<64xi8>) -> ()
  %b = memref.alloc() : memref<64xi8>
  func.call @window(%a, %b) : (memref<64xi8>, memref<64xi8>) -> ()
  func.call @last(%b, %y) : (memref<64xi8>, memref<4xi8>) -> ()
  func.return
}

// -----

// Another operand in the same memory may be read at any time; so they are apart.

// CHECK:       peak_bytes = 128 : i64
// CHECK-NOT:   may_alias
func.func private @first(%0: memref<4xi8>, %1: memref<64xi8>) attributes {aot.kernel, aot.in_place = [[]]} { func.return }
func.func private @window(%0: memref<64xi8>, %1: memref<64xi8>, %2: memref<64xi8>) attributes {aot.kernel, aot.in_place = [[]], aot.trails = [[16, -1]]} { func.return }
func.func private @last(%0: memref<64xi8>, %1: memref<4xi8>) attributes {aot.kernel, aot.in_place = [[]]} { func.return }
func.func @main(%x: memref<4xi8> {aot.io = "input"}, %y: memref<4xi8> {aot.io = "output"}) attributes {aot.entry} {
  %a = memref.alloc() : memref<64xi8>
  func.call @first(%x, %a) : (memref<4xi8>, memref<64xi8>) -> ()
  %b = memref.alloc() : memref<64xi8>
  func.call @window(%a, %a, %b) : (memref<64xi8>, memref<64xi8>, memref<64xi8>) -> ()
  func.call @last(%b, %y) : (memref<64xi8>, memref<4xi8>) -> ()
  func.return
}
