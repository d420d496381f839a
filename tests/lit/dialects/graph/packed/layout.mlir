// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p fold-constants | filecheck %s --check-prefix=FOLDED

// CHECK-LABEL: func.func @main
// CHECK: graph.pack %x {layout = #graph.layout<channels (d0, d1 floordiv 4, d2, d1 mod 4)>} : (tensor<1x6x5xf32>) -> tensor<1x2x5x4xf32>
// CHECK: graph.unpack %{{.*}} {layout = #graph.layout<channels (d0, d1 floordiv 4, d2, d1 mod 4), parts = [2, 3]>, shape = array<i64: 1, 5, 5>} : (tensor<1x2x5x4xf32>) -> tensor<1x5x5xf32>
// CHECK: graph.pack %w {layout = #graph.layout<rows (d0 floordiv 2, (d1, d0 mod 2))>} : (tensor<3x2xi8>) -> tensor<2x4xi8>
// CHECK: graph.pack %w {layout = #graph.layout<words ((d0 floordiv 2, d1, d0 mod 2)), tight>} : (tensor<3x2xi8>) -> tensor<6xi8>
// CHECK: graph.pack %w {layout = #graph.layout<digits (d1, d0 floordiv 2 mod 2, d0 mod 2, d0 floordiv 4)>} : (tensor<3x2xi8>) -> tensor<2x2x2x1xi8>

// FOLDED: graph.constant dense<{{\[\[}}1, 3, 2, 4], [5, 0, 6, 0]]>
// FOLDED: graph.constant dense<[1, 3, 2, 4, 5, 6]>
// FOLDED: graph.constant dense<{{\[\[\[\[}}1], [3]], {{\[\[}}5], [0]]], {{\[\[\[}}2], [4]], {{\[\[}}6], [0]]]]>
func.func @main(%x: tensor<1x6x5xf32>) -> (tensor<1x5x5xf32>, tensor<2x4xi8>, tensor<6xi8>, tensor<2x2x2x1xi8>) attributes {aot.entry} {
  %0 = graph.pack %x {layout = #graph.layout<channels (d0, d1 floordiv 4, d2, d1 mod 4)>} : (tensor<1x6x5xf32>) -> tensor<1x2x5x4xf32>
  %1 = graph.unpack %0 {layout = #graph.layout<channels (d0, d1 floordiv 4, d2, d1 mod 4), parts = [2, 3]>, shape = array<i64: 1, 5, 5>} : (tensor<1x2x5x4xf32>) -> tensor<1x5x5xf32>
  %w = graph.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi8>
  %2 = graph.pack %w {layout = #graph.layout<rows (d0 floordiv 2, (d1, d0 mod 2))>} : (tensor<3x2xi8>) -> tensor<2x4xi8>
  %3 = graph.pack %w {layout = #graph.layout<words ((d0 floordiv 2, d1, d0 mod 2)), tight>} : (tensor<3x2xi8>) -> tensor<6xi8>
  %4 = graph.pack %w {layout = #graph.layout<digits (d1, d0 floordiv 2 mod 2, d0 mod 2, d0 floordiv 4)>} : (tensor<3x2xi8>) -> tensor<2x2x2x1xi8>
  func.return %1, %2, %3, %4 : tensor<1x5x5xf32>, tensor<2x4xi8>, tensor<6xi8>, tensor<2x2x2x1xi8>
}
