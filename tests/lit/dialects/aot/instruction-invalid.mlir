// RUN: aotc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: there is no instruction "vpdpbusd.1024"
func.func @unknown(%x: vector<16xi8>) -> vector<16xi8> {
  %r = aot.instruction "vpdpbusd.1024" %x : vector<16xi8> -> vector<16xi8>
  func.return %r : vector<16xi8>
}

// -----

// CHECK: psignb.128 is vector<16xi8>, vector<16xi8> -> vector<16xi8>, found vector<16xi8> -> vector<16xi8>
func.func @operands(%x: vector<16xi8>) -> vector<16xi8> {
  %r = aot.instruction "psignb.128" %x : vector<16xi8> -> vector<16xi8>
  func.return %r : vector<16xi8>
}

// -----

// CHECK: pmaddwd.128 is vector<8xi16>, vector<8xi16> -> vector<4xi32>, found vector<16xi8>, vector<16xi8> -> vector<4xi32>
func.func @type(%x: vector<16xi8>) -> vector<4xi32> {
  %r = aot.instruction "pmaddwd.128" %x, %x : vector<16xi8>, vector<16xi8> -> vector<4xi32>
  func.return %r : vector<4xi32>
}

// -----

// CHECK: pmaddwd.128 is vector<8xi16>, vector<8xi16> -> vector<4xi32>, found vector<8xi16>, vector<8xi16> -> vector<8xi16>
func.func @result(%x: vector<8xi16>) -> vector<8xi16> {
  %r = aot.instruction "pmaddwd.128" %x, %x : vector<8xi16>, vector<8xi16> -> vector<8xi16>
  func.return %r : vector<8xi16>
}
