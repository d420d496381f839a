// RUN: aotc-opt %s -p 'attach-target{target=cortex-m55},select-instructions' | filecheck %s

// An instruction that adds to nothing becomes one that does not add, if there is one; any other number is added.
// CHECK-LABEL: func.func @sums(
// CHECK:         %a = aot.instruction "vaddv.s8" %x : vector<16xi8> -> i32
// CHECK-NEXT:    %b = aot.instruction "vaddva.s8" %x, %one : vector<16xi8>, i32 -> i32
// CHECK-NEXT:    %c = aot.instruction "smlad" %a, %b, %zero : i32, i32, i32 -> i32
func.func @sums(%x: vector<16xi8>) -> i32 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %a = aot.instruction "vaddva.s8" %x, %zero : vector<16xi8>, i32 -> i32
  %b = aot.instruction "vaddva.s8" %x, %one : vector<16xi8>, i32 -> i32
  %c = aot.instruction "smlad" %a, %b, %zero : i32, i32, i32 -> i32
  func.return %c : i32
}
