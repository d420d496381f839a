// RUN: aotc-opt %s -p 'select-calling-convention' | filecheck %s
// RUN: aotc-opt %s -p 'select-calling-convention{interface-api=micro workspace=caller weights=external}' | filecheck %s --check-prefix MICRO
// RUN: aotc-opt %s -p 'select-calling-convention{interface-api=packed operator-api=cpacked}' | filecheck %s --check-prefix PACKED
// RUN: aotc-opt %s -p 'select-calling-convention{resource-handle=true}' | filecheck %s --check-prefix HANDLE

// D5, D6, D7, D29: entry and operators are chosen apart; only attributes change.

builtin.module attributes {aot.name = "m"} {
  func.func @main(%x: memref<4xf32>) attributes {aot.entry} {
    func.call @relu_0(%x) : (memref<4xf32>) -> ()
    func.return
  }
  func.func private @relu_0(%x: memref<4xf32>) attributes {aot.kernel} {
    func.return
  }
  func.func private @expf(f32) -> f32
}

// CHECK:      aot.interface = "c", aot.workspace = "internal", aot.weights = "embedded"
// CHECK-NEXT: func.func @main(%x: memref<4xf32>) attributes {aot.entry, aot.convention = #aot<convention c>} {
// CHECK:      func.func private @relu_0(%x: memref<4xf32>) attributes {aot.kernel, aot.convention = #aot<convention unpacked>} {
// CHECK:      func.func private @expf(f32) -> f32

// MICRO:      aot.interface = "micro", aot.workspace = "caller", aot.weights = "external"
// MICRO-NEXT: attributes {aot.entry, aot.convention = #aot<convention micro>, aot.resource_handle} {
// MICRO:      #aot<convention unpacked>

// PACKED:     aot.interface = "packed"
// PACKED:     attributes {aot.entry, aot.convention = #aot<convention packed_entry>, aot.resource_handle} {
// PACKED:     #aot<convention cpacked>

// HANDLE:     attributes {aot.entry, aot.convention = #aot<convention c>, aot.resource_handle} {
