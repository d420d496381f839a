// RUN: aotc-opt %s -p fix-arithmetic,dce | filecheck %s

// Sums and differences of terms that are rescaled to i32 are multiples of the integers, for all 65,536 pairs.
// CHECK-LABEL: func.func @sum
// CHECK-NEXT:  graph.fixed_add %x, %y {x_factor = {{[0-9]+}} : i64, y_factor = {{[0-9]+}} : i64, {{.*}}low = -128 : i64, high = 127 : i64, to = i8}
// CHECK-NEXT:  func.return
func.func @sum(%x: tensor<1x4xi8>, %y: tensor<1x4xi8>) -> tensor<1x4xi8> attributes {aot.entry} {
  %zx = graph.constant dense<-3> : tensor<i32>
  %zy = graph.constant dense<7> : tensor<i32>
  %up = graph.constant dense<1048576> : tensor<i32>
  %fx = graph.constant dense<1073741824> : tensor<i32>
  %sx = graph.constant dense<0> : tensor<i32>
  %fy = graph.constant dense<1924145251> : tensor<i32>
  %sy = graph.constant dense<10> : tensor<i32>
  %f = graph.constant dense<1227133552> : tensor<i32>
  %s = graph.constant dense<18> : tensor<i32>
  %x0 = graph.cast %x {to = i32} : (tensor<1x4xi8>) -> tensor<1x4xi32>
  %x1 = graph.sub %x0, %zx : (tensor<1x4xi32>, tensor<i32>) -> tensor<1x4xi32>
  %x2 = graph.mul %x1, %up : (tensor<1x4xi32>, tensor<i32>) -> tensor<1x4xi32>
  %x3 = graph.doubling_requantize %x2, %fx, %sx {axis = 1 : i64, zero_point = 0 : i64, low = -2147483648 : i64, high = 2147483647 : i64, to = i32} : (tensor<1x4xi32>, tensor<i32>, tensor<i32>) -> tensor<1x4xi32>
  %y0 = graph.cast %y {to = i32} : (tensor<1x4xi8>) -> tensor<1x4xi32>
  %y1 = graph.sub %y0, %zy : (tensor<1x4xi32>, tensor<i32>) -> tensor<1x4xi32>
  %y2 = graph.mul %y1, %up : (tensor<1x4xi32>, tensor<i32>) -> tensor<1x4xi32>
  %y3 = graph.doubling_requantize %y2, %fy, %sy {axis = 1 : i64, zero_point = 0 : i64, low = -2147483648 : i64, high = 2147483647 : i64, to = i32} : (tensor<1x4xi32>, tensor<i32>, tensor<i32>) -> tensor<1x4xi32>
  %sum = graph.add %x3, %y3 : (tensor<1x4xi32>, tensor<1x4xi32>) -> tensor<1x4xi32>
  %r = graph.doubling_requantize %sum, %f, %s {axis = 1 : i64, zero_point = 4 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<1x4xi32>, tensor<i32>, tensor<i32>) -> tensor<1x4xi8>
  func.return %r : tensor<1x4xi8>
}

// CHECK-LABEL: func.func @difference
// CHECK-NEXT:  graph.fixed_add %x, %y {x_factor = {{[0-9]+}} : i64, y_factor = -{{[0-9]+}} : i64
func.func @difference(%x: tensor<1x4xi8>, %y: tensor<1x4xi8>) -> tensor<1x4xi8> attributes {aot.entry} {
  %zx = graph.constant dense<-3> : tensor<i32>
  %zy = graph.constant dense<7> : tensor<i32>
  %up = graph.constant dense<1048576> : tensor<i32>
  %fx = graph.constant dense<1073741824> : tensor<i32>
  %sx = graph.constant dense<0> : tensor<i32>
  %fy = graph.constant dense<1924145251> : tensor<i32>
  %sy = graph.constant dense<10> : tensor<i32>
  %f = graph.constant dense<1227133552> : tensor<i32>
  %s = graph.constant dense<18> : tensor<i32>
  %x0 = graph.cast %x {to = i32} : (tensor<1x4xi8>) -> tensor<1x4xi32>
  %x1 = graph.sub %x0, %zx : (tensor<1x4xi32>, tensor<i32>) -> tensor<1x4xi32>
  %x2 = graph.mul %x1, %up : (tensor<1x4xi32>, tensor<i32>) -> tensor<1x4xi32>
  %x3 = graph.doubling_requantize %x2, %fx, %sx {axis = 1 : i64, zero_point = 0 : i64, low = -2147483648 : i64, high = 2147483647 : i64, to = i32} : (tensor<1x4xi32>, tensor<i32>, tensor<i32>) -> tensor<1x4xi32>
  %y0 = graph.cast %y {to = i32} : (tensor<1x4xi8>) -> tensor<1x4xi32>
  %y1 = graph.sub %y0, %zy : (tensor<1x4xi32>, tensor<i32>) -> tensor<1x4xi32>
  %y2 = graph.mul %y1, %up : (tensor<1x4xi32>, tensor<i32>) -> tensor<1x4xi32>
  %y3 = graph.doubling_requantize %y2, %fy, %sy {axis = 1 : i64, zero_point = 0 : i64, low = -2147483648 : i64, high = 2147483647 : i64, to = i32} : (tensor<1x4xi32>, tensor<i32>, tensor<i32>) -> tensor<1x4xi32>
  %sum = graph.sub %x3, %y3 : (tensor<1x4xi32>, tensor<1x4xi32>) -> tensor<1x4xi32>
  %r = graph.doubling_requantize %sum, %f, %s {axis = 1 : i64, zero_point = 4 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<1x4xi32>, tensor<i32>, tensor<i32>) -> tensor<1x4xi8>
  func.return %r : tensor<1x4xi8>
}

// Of these scales some sums lie in the middle between two integers, to either side of zero.
// CHECK-LABEL: func.func @ties
// CHECK-NOT:   graph.fixed_add
// CHECK:       func.return
func.func @ties(%x: tensor<1x4xi8>, %y: tensor<1x4xi8>) -> tensor<1x4xi8> attributes {aot.entry} {
  %zx = graph.constant dense<-3> : tensor<i32>
  %zy = graph.constant dense<7> : tensor<i32>
  %up = graph.constant dense<1048576> : tensor<i32>
  %fx = graph.constant dense<1073741824> : tensor<i32>
  %sx = graph.constant dense<0> : tensor<i32>
  %fy = graph.constant dense<1288490141> : tensor<i32>
  %sy = graph.constant dense<1> : tensor<i32>
  %f = graph.constant dense<1789569773> : tensor<i32>
  %s = graph.constant dense<19> : tensor<i32>
  %x0 = graph.cast %x {to = i32} : (tensor<1x4xi8>) -> tensor<1x4xi32>
  %x1 = graph.sub %x0, %zx : (tensor<1x4xi32>, tensor<i32>) -> tensor<1x4xi32>
  %x2 = graph.mul %x1, %up : (tensor<1x4xi32>, tensor<i32>) -> tensor<1x4xi32>
  %x3 = graph.doubling_requantize %x2, %fx, %sx {axis = 1 : i64, zero_point = 0 : i64, low = -2147483648 : i64, high = 2147483647 : i64, to = i32} : (tensor<1x4xi32>, tensor<i32>, tensor<i32>) -> tensor<1x4xi32>
  %y0 = graph.cast %y {to = i32} : (tensor<1x4xi8>) -> tensor<1x4xi32>
  %y1 = graph.sub %y0, %zy : (tensor<1x4xi32>, tensor<i32>) -> tensor<1x4xi32>
  %y2 = graph.mul %y1, %up : (tensor<1x4xi32>, tensor<i32>) -> tensor<1x4xi32>
  %y3 = graph.doubling_requantize %y2, %fy, %sy {axis = 1 : i64, zero_point = 0 : i64, low = -2147483648 : i64, high = 2147483647 : i64, to = i32} : (tensor<1x4xi32>, tensor<i32>, tensor<i32>) -> tensor<1x4xi32>
  %sum = graph.add %x3, %y3 : (tensor<1x4xi32>, tensor<1x4xi32>) -> tensor<1x4xi32>
  %r = graph.doubling_requantize %sum, %f, %s {axis = 1 : i64, zero_point = 4 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<1x4xi32>, tensor<i32>, tensor<i32>) -> tensor<1x4xi8>
  func.return %r : tensor<1x4xi8>
}

// Several factors, of the sum or of a term; products; terms that nothing is known of, and results that are clamped at 0.
// CHECK-LABEL: func.func @others
// CHECK-NOT:   graph.fixed_add
// CHECK:       func.return
func.func @others(%x: tensor<1x4xi8>, %y: tensor<1x4xi8>, %z: tensor<1x4xi32>) -> (tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi8>) attributes {aot.entry} {
  %zx = graph.constant dense<-3> : tensor<i32>
  %zy = graph.constant dense<7> : tensor<i32>
  %up = graph.constant dense<1048576> : tensor<i32>
  %fx = graph.constant dense<1073741824> : tensor<i32>
  %sx = graph.constant dense<0> : tensor<i32>
  %fy = graph.constant dense<1924145251> : tensor<i32>
  %sy = graph.constant dense<10> : tensor<i32>
  %f = graph.constant dense<1227133552> : tensor<i32>
  %s = graph.constant dense<18> : tensor<i32>
  %many = graph.constant dense<1073741824> : tensor<4xi32>
  %zeros = graph.constant dense<0> : tensor<4xi32>
  %x0 = graph.cast %x {to = i32} : (tensor<1x4xi8>) -> tensor<1x4xi32>
  %x1 = graph.sub %x0, %zx : (tensor<1x4xi32>, tensor<i32>) -> tensor<1x4xi32>
  %x2 = graph.mul %x1, %up : (tensor<1x4xi32>, tensor<i32>) -> tensor<1x4xi32>
  %x3 = graph.doubling_requantize %x2, %fx, %sx {axis = 1 : i64, zero_point = 0 : i64, low = -2147483648 : i64, high = 2147483647 : i64, to = i32} : (tensor<1x4xi32>, tensor<i32>, tensor<i32>) -> tensor<1x4xi32>
  %y0 = graph.cast %y {to = i32} : (tensor<1x4xi8>) -> tensor<1x4xi32>
  %y1 = graph.sub %y0, %zy : (tensor<1x4xi32>, tensor<i32>) -> tensor<1x4xi32>
  %y2 = graph.mul %y1, %up : (tensor<1x4xi32>, tensor<i32>) -> tensor<1x4xi32>
  %y3 = graph.doubling_requantize %y2, %fy, %sy {axis = 1 : i64, zero_point = 0 : i64, low = -2147483648 : i64, high = 2147483647 : i64, to = i32} : (tensor<1x4xi32>, tensor<i32>, tensor<i32>) -> tensor<1x4xi32>
  %sum = graph.add %x3, %y3 : (tensor<1x4xi32>, tensor<1x4xi32>) -> tensor<1x4xi32>
  %r = graph.doubling_requantize %sum, %many, %zeros {axis = 1 : i64, zero_point = 4 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<1x4xi32>, tensor<4xi32>, tensor<4xi32>) -> tensor<1x4xi8>
  %a0 = graph.cast %x {to = i32} : (tensor<1x4xi8>) -> tensor<1x4xi32>
  %a1 = graph.sub %a0, %zx : (tensor<1x4xi32>, tensor<i32>) -> tensor<1x4xi32>
  %a2 = graph.mul %a1, %up : (tensor<1x4xi32>, tensor<i32>) -> tensor<1x4xi32>
  %a3 = graph.doubling_requantize %a2, %many, %zeros {axis = 1 : i64, zero_point = 0 : i64, low = -2147483648 : i64, high = 2147483647 : i64, to = i32} : (tensor<1x4xi32>, tensor<4xi32>, tensor<4xi32>) -> tensor<1x4xi32>
  %sum2 = graph.add %a3, %y3 : (tensor<1x4xi32>, tensor<1x4xi32>) -> tensor<1x4xi32>
  %r2 = graph.doubling_requantize %sum2, %f, %s {axis = 1 : i64, zero_point = 4 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<1x4xi32>, tensor<i32>, tensor<i32>) -> tensor<1x4xi8>
  %sum3 = graph.mul %x3, %y3 : (tensor<1x4xi32>, tensor<1x4xi32>) -> tensor<1x4xi32>
  %r3 = graph.doubling_requantize %sum3, %f, %s {axis = 1 : i64, zero_point = 4 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<1x4xi32>, tensor<i32>, tensor<i32>) -> tensor<1x4xi8>
  %sum4 = graph.add %z, %y3 : (tensor<1x4xi32>, tensor<1x4xi32>) -> tensor<1x4xi32>
  %r4 = graph.doubling_requantize %sum4, %f, %s {axis = 1 : i64, zero_point = 4 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<1x4xi32>, tensor<i32>, tensor<i32>) -> tensor<1x4xi8>
  %b0 = graph.cast %x {to = i32} : (tensor<1x4xi8>) -> tensor<1x4xi32>
  %b1 = graph.sub %b0, %zx : (tensor<1x4xi32>, tensor<i32>) -> tensor<1x4xi32>
  %b2 = graph.mul %b1, %up : (tensor<1x4xi32>, tensor<i32>) -> tensor<1x4xi32>
  %b3 = graph.doubling_requantize %b2, %fx, %sx {axis = 1 : i64, zero_point = 0 : i64, low = 0 : i64, high = 2147483647 : i64, to = i32} : (tensor<1x4xi32>, tensor<i32>, tensor<i32>) -> tensor<1x4xi32>
  %sum5 = graph.add %b3, %y3 : (tensor<1x4xi32>, tensor<1x4xi32>) -> tensor<1x4xi32>
  %r5 = graph.doubling_requantize %sum5, %f, %s {axis = 1 : i64, zero_point = 4 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<1x4xi32>, tensor<i32>, tensor<i32>) -> tensor<1x4xi8>
  func.return %r, %r2, %r3, %r4, %r5 : tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi8>
}

// A sum that is rescaled to i32 has no such result.
// CHECK-LABEL: func.func @wide
// CHECK-NOT:   graph.fixed_add
// CHECK:       func.return
func.func @wide(%x: tensor<1x4xi8>, %y: tensor<1x4xi8>) -> tensor<1x4xi32> attributes {aot.entry} {
  %zx = graph.constant dense<-3> : tensor<i32>
  %zy = graph.constant dense<7> : tensor<i32>
  %up = graph.constant dense<1048576> : tensor<i32>
  %fx = graph.constant dense<1073741824> : tensor<i32>
  %sx = graph.constant dense<0> : tensor<i32>
  %fy = graph.constant dense<1924145251> : tensor<i32>
  %sy = graph.constant dense<10> : tensor<i32>
  %f = graph.constant dense<1227133552> : tensor<i32>
  %s = graph.constant dense<18> : tensor<i32>
  %x0 = graph.cast %x {to = i32} : (tensor<1x4xi8>) -> tensor<1x4xi32>
  %x1 = graph.sub %x0, %zx : (tensor<1x4xi32>, tensor<i32>) -> tensor<1x4xi32>
  %x2 = graph.mul %x1, %up : (tensor<1x4xi32>, tensor<i32>) -> tensor<1x4xi32>
  %x3 = graph.doubling_requantize %x2, %fx, %sx {axis = 1 : i64, zero_point = 0 : i64, low = -2147483648 : i64, high = 2147483647 : i64, to = i32} : (tensor<1x4xi32>, tensor<i32>, tensor<i32>) -> tensor<1x4xi32>
  %y0 = graph.cast %y {to = i32} : (tensor<1x4xi8>) -> tensor<1x4xi32>
  %y1 = graph.sub %y0, %zy : (tensor<1x4xi32>, tensor<i32>) -> tensor<1x4xi32>
  %y2 = graph.mul %y1, %up : (tensor<1x4xi32>, tensor<i32>) -> tensor<1x4xi32>
  %y3 = graph.doubling_requantize %y2, %fy, %sy {axis = 1 : i64, zero_point = 0 : i64, low = -2147483648 : i64, high = 2147483647 : i64, to = i32} : (tensor<1x4xi32>, tensor<i32>, tensor<i32>) -> tensor<1x4xi32>
  %sum = graph.add %x3, %y3 : (tensor<1x4xi32>, tensor<1x4xi32>) -> tensor<1x4xi32>
  %r = graph.doubling_requantize %sum, %f, %s {axis = 1 : i64, zero_point = 0 : i64, low = -2147483648 : i64, high = 2147483647 : i64, to = i32} : (tensor<1x4xi32>, tensor<i32>, tensor<i32>) -> tensor<1x4xi32>
  func.return %r : tensor<1x4xi32>
}
