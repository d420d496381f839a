// RUN: aotc-opt %s -p 'attach-target{target=host},offload-operations{codegens="test-linked,test-by-name"}' --print-debuginfo | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=host},offload-operations{codegens="test-linked"},canonicalize,cse,dce' | filecheck %s --check-prefix PAIRS
// RUN: aotc-opt %s -p 'attach-target{target=host},offload-operations' | filecheck %s --check-prefix NONE
// RUN: aotc-opt %s -p 'attach-target{target=host},offload-operations{codegens="test-first"}' --print-debuginfo | filecheck %s --check-prefix ASKED
// RUN: not aotc-opt %s -p 'attach-target{target=host},offload-operations{codegens="nobody"}' 2>&1 | filecheck %s --check-prefix MISSING

// MISSING: --offload nobody; no installed package has such a code generator; there are: {{.*}}test-by-name, test-first, test-linked
// NONE-NOT: graph.external

// What a claim has in another order is transposed, its result back; its own arrays become constants.
// CHECK-LABEL: func.func @chain
// CHECK:       [[N:%.*]] = graph.external %x {codegen = "test-by-name", kernel = "neg", settings = {}, by_name} : (tensor<2x3xf32>) -> tensor<2x3xf32> loc("Neg_0")
// CHECK-NEXT:  [[T:%.*]] = graph.transpose [[N]] {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32> loc("Relu_0")
// CHECK-NEXT:  [[Z:%.*]] = graph.constant dense<0.000000e+00> : tensor<16xf32>
// CHECK-NEXT:  [[R:%.*]], {{%.*}} = graph.external [[T]], [[Z]] {codegen = "test-linked", kernel = "relu", settings = {bound = 0.000000e+00 : f64, count = 6 : i64, what = "relu"}} : (tensor<3x2xf32>, tensor<16xf32>) -> (tensor<3x2xf32>, tensor<64xi8>) loc("Relu_0")
// CHECK-NEXT:  {{%.*}} = graph.transpose [[R]] {permutation = array<i64: 1, 0>} : (tensor<3x2xf32>) -> tensor<2x3xf32> loc("Relu_0")

// Pairs of transposes between kernels are no more, and equal constants are one.
// PAIRS-LABEL: func.func @chain
// PAIRS:       [[T:%.*]] = graph.transpose
// PAIRS-NEXT:  graph.constant
// PAIRS-NEXT:  [[A:%.*]], {{%.*}} = graph.external [[T]],
// PAIRS-NEXT:  [[B:%.*]], {{%.*}} = graph.external [[A]],
// PAIRS-NEXT:  [[Y:%.*]] = graph.transpose [[B]]
// PAIRS-NEXT:  func.return [[Y]]
func.func @chain(%x: tensor<2x3xf32>) -> tensor<2x3xf32> attributes {aot.entry} {
  %0 = graph.neg %x : (tensor<2x3xf32>) -> tensor<2x3xf32> loc("Neg_0")
  %1 = graph.relu %0 : (tensor<2x3xf32>) -> tensor<2x3xf32> loc("Relu_0")
  %2 = graph.relu %1 : (tensor<2x3xf32>) -> tensor<2x3xf32> loc("Relu_1")
  func.return %2 : tensor<2x3xf32>
}

// Nobody claims doubles, and what nothing reads is nobody's to compute.
// CHECK-LABEL: func.func @unclaimed
// CHECK-NEXT:  graph.relu %x : (tensor<4xf64>) -> tensor<4xf64>
// CHECK-NEXT:  func.return
func.func @unclaimed(%x: tensor<4xf64>, %f: tensor<4xf32>) -> tensor<4xf64> attributes {aot.entry} {
  %0 = graph.relu %x : (tensor<4xf64>) -> tensor<4xf64>
  %1 = graph.relu %f : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf64>
}

// Code generators are asked about operations with one result, not about constants, whose places are no part of a claim's.
// An order that is the same is none.
// ASKED-LABEL: func.func @asked
// ASKED-NEXT:  %c = graph.constant
// ASKED-NEXT:  [[S:%.*]] = graph.external %m {codegen = "test-first", {{.*}} -> tensor<2x3xf32> loc("Where")
// ASKED-NEXT:  {{%.*}}, [[I:%.*]] = graph.top_k [[S]]
// ASKED-NEXT:  func.return [[I]], %c
func.func @asked(%m: tensor<2x3xi1>, %y: tensor<3xf32>) -> (tensor<2x2xi64>, tensor<3xf32>) attributes {aot.entry} {
  %c = graph.constant dense<1.0> : tensor<3xf32> loc("Constant")
  %0 = graph.where %m, %c, %y : (tensor<2x3xi1>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32> loc("Where")
  %1, %2 = graph.top_k %0 {k = 2, axis = 1} : (tensor<2x3xf32>) -> (tensor<2x2xf32>, tensor<2x2xi64>)
  func.return %2, %c : tensor<2x2xi64>, tensor<3xf32>
}
