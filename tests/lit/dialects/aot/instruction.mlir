// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p simplify-functions | filecheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @dot
// CHECK:         %r = aot.instruction "vpdpbusd.512" %s, %x, %w : vector<16xi32>, vector<64xi8>, vector<64xi8> -> vector<16xi32>
func.func @dot(%s: vector<16xi32>, %x: vector<64xi8>, %w: vector<64xi8>) -> vector<16xi32> {
  %r = aot.instruction "vpdpbusd.512" %s, %x, %w : vector<16xi32>, vector<64xi8>, vector<64xi8> -> vector<16xi32>
  func.return %r : vector<16xi32>
}

// Of constants by what the instruction computes: 255 * 2 + 255 * 3, and saturated.
// FOLD-LABEL: func.func @folded
// FOLD-DAG:     [[FIRST:%.*]] = arith.constant dense<1275> : vector<8xi16>
// FOLD-DAG:     [[SECOND:%.*]] = arith.constant dense<32767> : vector<8xi16>
// FOLD-NOT:     aot.instruction
// FOLD:         func.return [[FIRST]], [[SECOND]]
func.func @folded() -> (vector<8xi16>, vector<8xi16>) {
  %x = arith.constant dense<-1> : vector<16xi8>
  %w = arith.constant dense<[2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3]> : vector<16xi8>
  %v = arith.constant dense<127> : vector<16xi8>
  %0 = aot.instruction "pmaddubsw.128" %x, %w : vector<16xi8>, vector<16xi8> -> vector<8xi16>
  %1 = aot.instruction "pmaddubsw.128" %x, %v : vector<16xi8>, vector<16xi8> -> vector<8xi16>
  func.return %0, %1 : vector<8xi16>, vector<8xi16>
}

// FOLD-LABEL: func.func @unknown
// FOLD:         aot.instruction "psignb.128" %x, %c
// FOLD-NOT:     aot.instruction
func.func @unknown(%x: vector<16xi8>) -> (vector<16xi8>, vector<16xi8>) {
  %c = arith.constant dense<-1> : vector<16xi8>
  %0 = aot.instruction "psignb.128" %x, %c : vector<16xi8>, vector<16xi8> -> vector<16xi8>
  %1 = aot.instruction "psignb.128" %x, %c : vector<16xi8>, vector<16xi8> -> vector<16xi8>
  func.return %0, %1 : vector<16xi8>, vector<16xi8>
}
