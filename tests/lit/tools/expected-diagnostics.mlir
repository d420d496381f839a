// RUN: aotc-opt %s --split-input-file --verify-diagnostics
// RUN: not aotc-opt %s --split-input-file --verify-diagnostics --cse --pass-pipeline='builtin.module(fold-constants)' 2>&1 | filecheck %s
// CHECK: expected-diagnostics.mlir:13:{{[0-9]+}}: error: unexpected error: there is no array w; give --weights FILE.npz

// Every way to say where: a file in which a diagnostic is expected may have no others.
func.func @below(%x: tensor<4xf32>) -> tensor<5xf32> {
  // expected-error@below {{result type is tensor<5xf32>}}
  %0 = graph.relu %x : (tensor<4xf32>) -> tensor<5xf32>
  func.return %0 : tensor<5xf32>
}
// -----
func.func @constant() -> tensor<4xf32> attributes {aot.entry} {
  %0 = graph.constant dense_resource<w> : tensor<4xf32>
  %1 = graph.relu %0 : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
// -----
func.func @same(%x: tensor<4xf32>) {
  %0 = graph.relo %x : (tensor<4xf32>) -> tensor<4xf32> // expected-error {{did you mean graph.relu}}
  func.return
}
// -----
func.func @above(%x: tensor<4xf32>) {
  %0 = graph.relu %x : (tensor<4xf32>) -> tensor<4xf32
  // expected-error-re@+1 {{Expected '{{[>)]+}}'}}
  func.return
}
// -----
// expected-error@+1 {{the kernel k never writes its result %out; store every element of it once}}
func.func private @k(%x: memref<4xf32>, %out: memref<4xf32>) attributes {aot.kernel, aot.in_place = [[]]} {
  %c0 = arith.constant 0 : index
  %0 = memref.load %x[%c0] : memref<4xf32>
  %1 = memref.load %out[%c0] : memref<4xf32>
  func.return
}
// -----
// What writes through another view, or hands the buffer on, may write it.
func.func private @k(%x: memref<4xf32>, %out: memref<4xf32>) attributes {aot.kernel, aot.in_place = [[]]} {
  %v = "memref.cast"(%out) : (memref<4xf32>) -> memref<?xf32>
  %c0 = arith.constant 0 : index
  %0 = memref.load %x[%c0] : memref<4xf32>
  memref.store %0, %v[%c0] : memref<?xf32>
  func.return
}
