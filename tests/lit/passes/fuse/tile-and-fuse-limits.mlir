// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},choose-schedule,tile-and-fuse{most-operations=4}' | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},choose-schedule,tile-and-fuse{most-operations=3}' | filecheck %s --check-prefix FEWER

// A kernel has as many operations as the option says: of four the last two where three are the most.
// CHECK-LABEL: func.func @attention
// CHECK-NEXT:    graph.staged
// CHECK-NEXT:      graph.matmul
// CHECK-NEXT:      graph.add
// CHECK-NEXT:      graph.softmax
// CHECK-NEXT:      graph.matmul
// FEWER-LABEL: func.func @attention
// FEWER-NEXT:    graph.matmul
// FEWER-NEXT:    graph.add
// FEWER-NEXT:    graph.staged
// FEWER-NEXT:      graph.softmax
// FEWER-NEXT:      graph.matmul
func.func @attention(%q: tensor<8x256x64xf32>, %k: tensor<8x64x256xf32>, %m: tensor<1x256xf32>, %v: tensor<8x256x64xf32>) -> tensor<8x256x64xf32> attributes {aot.entry} {
  %0 = graph.matmul %q, %k : (tensor<8x256x64xf32>, tensor<8x64x256xf32>) -> tensor<8x256x256xf32>
  %1 = graph.add %0, %m : (tensor<8x256x256xf32>, tensor<1x256xf32>) -> tensor<8x256x256xf32>
  %2 = graph.softmax %1 {axes = array<i64: 2>, log = false} : (tensor<8x256x256xf32>) -> tensor<8x256x256xf32>
  %3 = graph.matmul %2, %v : (tensor<8x256x256xf32>, tensor<8x256x64xf32>) -> tensor<8x256x64xf32>
  func.return %3 : tensor<8x256x64xf32>
}
