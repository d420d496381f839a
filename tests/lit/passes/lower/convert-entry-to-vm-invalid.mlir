// RUN: aotc-opt %s -p 'convert-entry-to-vm' --split-input-file --verify-diagnostics | filecheck %s

// CHECK: memref.reinterpret_cast{{.*}}[no-form-in-bytecode]
func.func @shifted(%x: memref<8xf32>) attributes {aot.entry} {
  %v = memref.reinterpret_cast %x to offset: [0], sizes: [4, 2], strides: [1, 1] : memref<8xf32> to memref<4x2xf32>
  func.return
}

// -----

// CHECK: arith.constant{{.*}}[no-form-in-bytecode]
func.func @float() attributes {aot.entry} {
  %c = arith.constant 1.0 : f32
  func.return
}

// -----

// CHECK: memref.load{{.*}}[no-form-in-bytecode]
func.func @elements(%x: memref<8xi32>) attributes {aot.entry} {
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%c0] : memref<8xi32>
  func.return
}

// -----

// CHECK: arith.cmpi{{.*}}[no-form-in-bytecode]
func.func @unsigned(%x: memref<1xi32>) attributes {aot.entry} {
  %c0 = arith.constant 0 : index
  %v = arith.cmpi ult, %c0, %c0 : index
  func.return
}

// -----

// CHECK: arith.shli{{.*}}[no-form-in-bytecode]
func.func @other() attributes {aot.entry} {
  %c0 = arith.constant 0 : index
  %v = arith.shli %c0, %c0 : index
  func.return
}

// -----

// CHECK: func.call{{.*}}[no-form-in-bytecode]
func.func @value(%x: tensor<4xf32>) attributes {aot.entry} {
  %v = func.call @f() : () -> i32
  func.return
}
func.func private @f() -> i32

// -----

// CHECK: memref.load{{.*}}[no-form-in-bytecode]
func.func @real(%x: memref<f32>) attributes {aot.entry} {
  %v = memref.load %x[] : memref<f32>
  func.return
}

// -----

// CHECK: memref.reinterpret_cast{{.*}}[no-form-in-bytecode]
func.func @open(%x: memref<8xf32>, %n: index) attributes {aot.entry} {
  %v = memref.reinterpret_cast %x to offset: [0], sizes: [%n], strides: [1] : memref<8xf32> to memref<?xf32>
  func.return
}

// -----

// CHECK: memref.view{{.*}}[no-form-in-bytecode]
func.func @argument(%x: memref<8xi8>) attributes {aot.entry} {
  %c0 = arith.constant 0 : index
  %v = memref.view %x[%c0][] : memref<8xi8> to memref<2xf32>
  func.return
}

// -----

// CHECK: memref.view{{.*}}[no-form-in-bytecode]
func.func @anywhere(%n: index) attributes {aot.entry} {
  %ws = aot.workspace : memref<8xi8>
  %v = memref.view %ws[%n][] : memref<8xi8> to memref<1xf32>
  func.return
}
