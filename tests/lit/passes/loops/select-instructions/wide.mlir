// RUN: aotc-opt %s -p select-instructions | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=cortex-m55},select-instructions' | filecheck %s

// Halves of a product are those of one of twice the bits, of operands with a sign or without.
// CHECK-LABEL: func.func @signed(
// CHECK-NEXT:    [[A:%.+]] = arith.extsi %x : i32 to i64
// CHECK-NEXT:    [[B:%.+]] = arith.extsi %y : i32 to i64
// CHECK-NEXT:    [[P:%.+]] = arith.muli [[A]], [[B]] : i64
// CHECK-NEXT:    [[N:%.+]] = arith.constant 32 : i64
// CHECK-NEXT:    [[S:%.+]] = arith.shrsi [[P]], [[N]] : i64
// CHECK-NEXT:    %l = arith.trunci [[P]] : i64 to i32
// CHECK-NEXT:    %h = arith.trunci [[S]] : i64 to i32
// CHECK-NEXT:    func.return %l, %h : i32, i32
func.func @signed(%x: i32, %y: i32) -> (i32, i32) {
  %l, %h = arith.mulsi_extended %x, %y : i32
  func.return %l, %h : i32, i32
}

// CHECK-LABEL: func.func @unsigned(
// CHECK-NEXT:    [[A:%.+]] = arith.extui %x : i16 to i32
// CHECK-NEXT:    [[B:%.+]] = arith.extui %y : i16 to i32
// CHECK-NEXT:    [[P:%.+]] = arith.muli [[A]], [[B]] : i32
// CHECK:         [[S:%.+]] = arith.shrui [[P]], %{{.+}} : i32
// CHECK-NEXT:    %l = arith.trunci [[P]] : i32 to i16
// CHECK-NEXT:    %h = arith.trunci [[S]] : i32 to i16
func.func @unsigned(%x: i16, %y: i16) -> (i16, i16) {
  %l, %h = arith.mului_extended %x, %y : i16
  func.return %l, %h : i16, i16
}

// A sum of integers without a sign has wrapped where it is less than an operand.
// CHECK-LABEL: func.func @sum(
// CHECK-NEXT:    %s = arith.addi %x, %y : i8
// CHECK-NEXT:    %o = arith.cmpi ult, %s, %x : i8
// CHECK-NEXT:    func.return %s, %o : i8, i1
func.func @sum(%x: i8, %y: i8) -> (i8, i1) {
  %s, %o = arith.addui_extended %x, %y : i8, i1
  func.return %s, %o : i8, i1
}

// Of registers, too.
// CHECK-LABEL: func.func @registers(
// CHECK-NEXT:    [[A:%.+]] = aot.tile_convert "extsi" %x : vector<4xi16> -> vector<4xi32>
// CHECK-NEXT:    [[B:%.+]] = aot.tile_convert "extsi" %y : vector<4xi16> -> vector<4xi32>
// CHECK-NEXT:    [[P:%.+]] = arith.muli [[A]], [[B]] : vector<4xi32>
func.func @registers(%x: vector<4xi16>, %y: vector<4xi16>) -> (vector<4xi16>, vector<4xi16>) {
  %l, %h = arith.mulsi_extended %x, %y : vector<4xi16>
  func.return %l, %h : vector<4xi16>, vector<4xi16>
}
