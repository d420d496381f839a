// RUN: aotc-opt %s -p 'select-calling-convention{weights=external},place-weights' | filecheck %s
// RUN: aotc-opt %s -p 'select-calling-convention,place-weights' | filecheck %s --check-prefix EMBEDDED
// RUN: aotc-opt %s -p 'select-calling-convention{weights=caller},place-weights{apart=true}' | filecheck %s --check-prefix APART

// A9: parameters outside the library. One blob, 8-byte aligned, each array once; a kernel gets its weights passed.

builtin.module attributes {aot.name = "m"} {
  func.func @main(%x: memref<4xf32>, %y: memref<4xf32>) attributes {aot.entry} {
    %a = aot.weight "conv.1/w" : memref<3xi8>
    %b = aot.weight "b" : memref<2x4xf32>
    %c = aot.weight "conv.1/w" : memref<3xi8>
    func.call @conv_0(%x, %a, %b, %y) : (memref<4xf32>, memref<3xi8>, memref<2x4xf32>, memref<4xf32>) -> ()
    func.call @conv_0(%x, %c, %b, %y) : (memref<4xf32>, memref<3xi8>, memref<2x4xf32>, memref<4xf32>) -> ()
    func.return
  }
  func.func private @conv_0(%x: memref<4xf32>, %a: memref<3xi8>, %b: memref<2x4xf32>, %y: memref<4xf32>) attributes {aot.kernel, aot.in_place = [[]]} {
    %t = aot.weight "table" : memref<5xi16>
    %1 = aot.weight "b" : memref<2x4xf32>
    %c0 = arith.constant 0 : index
    %0 = memref.load %t[%c0] : memref<5xi16>
    %2 = arith.sitofp %0 : i16 to f32
    memref.store %2, %y[%c0] : memref<4xf32>
    %3 = memref.load %1[%c0, %c0] : memref<2x4xf32>
    memref.store %3, %y[%c0] : memref<4xf32>
    func.return
  }
}

// CHECK:      aot.weight_layout = {size = 50 : i64, alignment = 8 : i64, offsets = {"conv.1/w" = 0 : i64, b = 8 : i64, table = 40 : i64}}
// CHECK-NEXT: func.func @main
// CHECK-NEXT:   %weights = aot.weights "aotc_m_weights" : memref<50xi8>
// CHECK-NEXT:   %0 = arith.constant 0 : index
// CHECK-NEXT:   %a = memref.view %weights[%0][] : memref<50xi8> to memref<3xi8>
// CHECK-NEXT:   %1 = arith.constant 8 : index
// CHECK-NEXT:   %b = memref.view %weights[%1][] : memref<50xi8> to memref<2x4xf32>
// CHECK-NEXT:   %2 = arith.constant 0 : index
// CHECK-NEXT:   %c = memref.view %weights[%2][] : memref<50xi8> to memref<3xi8>
// CHECK-NEXT:   %3 = arith.constant 40 : index
// CHECK-NEXT:   %t = memref.view %weights[%3][] : memref<50xi8> to memref<5xi16>
// CHECK:        func.call @conv_0(%x, %a, %b, %t, %{{.*}}, %y)
// CHECK:        func.call @conv_0(%x, %c, %b, %{{.*}}, %{{.*}}, %y)
// CHECK:      func.func private @conv_0({{.*}}, %t: memref<5xi16>, %weight: memref<2x4xf32>, %y: memref<4xf32>)
// CHECK-NOT:    aot.weight

// EMBEDDED-NOT: aot.weight_layout
// EMBEDDED:     aot.weight "conv.1/w" : memref<3xi8>

// APART: aot.weight_layout = {size = 50 : i64, alignment = 8 : i64, offsets = {"conv.1/w" = 0 : i64, b = 8 : i64, table = 40 : i64}, apart}
