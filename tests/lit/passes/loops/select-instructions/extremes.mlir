// RUN: aotc-opt %s -p select-instructions | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=x86-64-v3},select-instructions' | filecheck %s --check-prefix=V3
// RUN: aotc-opt %s -p 'attach-target{target=aarch64},select-instructions' | filecheck %s --check-prefix=NEON

// One comparison decides between x and a number; between zeros it decides which one stays.
// CHECK-LABEL: func.func @numbers(
// CHECK:         [[LOW:%.+]] = arith.cmpf ole, %x, %zero : f32
// CHECK-NEXT:    %a = arith.select [[LOW]], %zero, %x : f32
// CHECK-NEXT:    [[HIGH:%.+]] = arith.cmpf ogt, %a, %six : f32
// CHECK-NEXT:    %b = arith.select [[HIGH]], %six, %a : f32
// CHECK-NEXT:    func.return %b : f32
func.func @numbers(%x: f32) -> f32 {
  %zero = arith.constant 0.0 : f32
  %six = arith.constant 6.0 : f32
  %a = arith.maximumf %x, %zero : f32
  %b = arith.minimumf %six, %a : f32
  func.return %b : f32
}

// On registers, where the number may be broadcast.
// CHECK-LABEL: func.func @registers(
// CHECK:         [[HIGH:%.+]] = aot.tile_compare "ogt" %x, %sixes : vector<4xf32> -> vector<4xi1>
// CHECK-NEXT:    %a = aot.tile_select [[HIGH]], %sixes, %x : vector<4xi1>, vector<4xf32>
// CHECK-NEXT:    [[LOW:%.+]] = aot.tile_compare "olt" %a, %ones : vector<4xf32> -> vector<4xi1>
// CHECK-NEXT:    %b = aot.tile_select [[LOW]], %ones, %a : vector<4xi1>, vector<4xf32>
func.func @registers(%x: vector<4xf32>) -> vector<4xf32> {
  %six = arith.constant 6.0 : f32
  %sixes = vector.broadcast %six : f32 to vector<4xf32>
  %ones = arith.constant dense<1.0> : vector<4xf32>
  %a = arith.minimumf %x, %sixes : vector<4xf32>
  %b = arith.maximumf %a, %ones : vector<4xf32>
  func.return %b : vector<4xf32>
}

// NaN is no number; of a zero that loses to the other one, compilers may take that for it; lanes differ.
// CHECK-LABEL: func.func @others(
// CHECK:         arith.maximumf %x, %nan : f32
// CHECK-NEXT:    arith.maximumf %a, %negative : f32
// CHECK-NEXT:    arith.minimumf %b, %positive : f32
// CHECK-NEXT:    arith.maximumf %y, %lanes : vector<2xf32>
func.func @others(%x: f32, %y: vector<2xf32>) -> (f32, vector<2xf32>) {
  %nan = arith.constant 0x7FC00000 : f32
  %negative = arith.constant -0.0 : f32
  %positive = arith.constant 0.0 : f32
  %lanes = arith.constant dense<[1.0, 2.0]> : vector<2xf32>
  %a = arith.maximumf %x, %nan : f32
  %b = arith.maximumf %a, %negative : f32
  %c = arith.minimumf %b, %positive : f32
  %d = arith.maximumf %y, %lanes : vector<2xf32>
  func.return %c, %d : f32, vector<2xf32>
}

// Where either zero will do, x86 has an instruction, which takes the second operand where one is NaN; it has none of other
// widths, and zeros are in order where they are not said to be equal.
// V3-LABEL: func.func @either_zero(
// V3-NEXT:    [[NAN:%.+]] = aot.tile_compare "une" %x, %x : vector<8xf32> -> vector<8xi1>
// V3-NEXT:    [[MOST:%.+]] = aot.instruction "vmaxps.256" %x, %y : vector<8xf32>, vector<8xf32> -> vector<8xf32>
// V3-NEXT:    %a = aot.tile_select [[NAN]], %x, [[MOST]] : vector<8xi1>, vector<8xf32>
// V3-NEXT:    [[NAN:%.+]] = aot.tile_compare "une" %z, %z : vector<2xf64> -> vector<2xi1>
// V3-NEXT:    [[LEAST:%.+]] = aot.instruction "vminpd.128" %z, %z : vector<2xf64>, vector<2xf64> -> vector<2xf64>
// V3-NEXT:    %b = aot.tile_select [[NAN]], %z, [[LEAST]] : vector<2xi1>, vector<2xf64>
// V3-NEXT:    %c = arith.maximumf %s, %s fastmath<nsz> : f32
// V3-NEXT:    %d = arith.maximumf %x, %y : vector<8xf32>
// NEON-LABEL: func.func @either_zero(
// NEON-NEXT:    %a = arith.maximumf %x, %y fastmath<nsz> : vector<8xf32>
func.func @either_zero(%x: vector<8xf32>, %y: vector<8xf32>, %z: vector<2xf64>, %s: f32) -> (vector<8xf32>, vector<2xf64>, f32, vector<8xf32>) {
  %a = arith.maximumf %x, %y fastmath<nsz> : vector<8xf32>
  %b = arith.minimumf %z, %z fastmath<nsz> : vector<2xf64>
  %c = arith.maximumf %s, %s fastmath<nsz> : f32
  %d = arith.maximumf %x, %y : vector<8xf32>
  func.return %a, %b, %c, %d : vector<8xf32>, vector<2xf64>, f32, vector<8xf32>
}
