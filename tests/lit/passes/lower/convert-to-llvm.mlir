// RUN: aotc-opt %s -p 'convert-to-llvm' | filecheck %s

// The arrays used lie in one blob without contents; the arena is one zeroed array.
// CHECK: llvm.mlir.global internal constant @aotc_m_weights() {addr_space = 0 : i32, alignment = 8 : i64, aot.weights = {bias = 0 : i64, scale = 12 : i64}, externally_initialized} : !llvm.array<32 x i8>
// CHECK-NEXT: llvm.mlir.global internal @aotc_m_workspace(0 : i8) {addr_space = 0 : i32, alignment = 16 : i64} : !llvm.array<96 x i8>

builtin.module attributes {aot.name = "m"} {
  // Arguments that are buffers can be read as far as the buffer goes; early exits share one block.
  // CHECK-LABEL: llvm.func @aotc_m_run(%x: !llvm.ptr {llvm.noalias, llvm.readonly, llvm.align = 4 : i64, llvm.noundef}, %y: !llvm.ptr {llvm.noundef})
  // CHECK-SAME: -> i32 attributes {no_unwind}
  // CHECK: %ws = llvm.mlir.addressof @aotc_m_workspace : !llvm.ptr
  // CHECK: %t = llvm.getelementptr inbounds %ws[32] : (!llvm.ptr) -> !llvm.ptr, i8
  // CHECK: %s = llvm.call @aotc_m_kernel(%x, %t) : (!llvm.ptr, !llvm.ptr) -> i32
  // CHECK-NEXT: [[BAD:%.+]] = llvm.icmp "ne" %s, [[ZERO:%.+]] : i32
  // CHECK-NEXT: llvm.cond_br [[BAD]], ^[[LEAVE:.+]](%s : i32), ^[[GO:.+]]
  // CHECK-NEXT: ^[[GO]]:
  // CHECK-NEXT: llvm.cond_br %ok, ^[[ON:.+]], ^[[LEAVE]]({{.*}} : i32)
  // CHECK-NEXT: ^[[ON]]:
  // CHECK-NEXT: llvm.return
  // CHECK-NEXT: ^[[LEAVE]](%status: i32):
  // CHECK-NEXT: llvm.return %status : i32
  func.func @aotc_m_run(%x: !aot.ptr<f32> {aot.noalias, aot.readonly, aot.align = 4 : i64, aot.name = "x"}, %y: !aot.ptr<f32>) -> i32 {
    %ws = aot.workspace : memref<96xi8>
    %c32 = arith.constant 32 : index
    %ok = arith.constant true
    %zero = arith.constant 0 : i32
    %t = memref.view %ws[%c32][] : memref<96xi8> to memref<2x3xf32>
    %p = aot.data %t : memref<2x3xf32> to !aot.ptr<f32>
    %s = func.call @aotc_m_kernel(%x, %p) : (!aot.ptr<f32>, !aot.ptr<f32>) -> i32
    aot.check %s
    aot.require %ok
    func.return %zero : i32
  }

  // A private function is internal. Constant indices fold; strides multiply without overflow.
  // CHECK-LABEL: llvm.func internal @aotc_m_kernel(
  // CHECK-SAME: llvm.dereferenceable = 24 : i64
  // CHECK: %w = llvm.getelementptr inbounds %{{.*}}[12] : (!llvm.ptr) -> !llvm.ptr, i8
  // CHECK: llvm.br ^[[HEAD:.+]]([[LOW:%.+]], [[INIT:%.+]] : i64, f32)
  // CHECK-NEXT: ^[[HEAD]]([[I:%.+]]: i64, [[SUM:%.+]]: f32):
  // CHECK-NEXT: [[MORE:%.+]] = llvm.icmp "slt" [[I]], {{.*}} : i64
  // CHECK-NEXT: llvm.cond_br [[MORE]], ^[[BODY:.+]], ^[[DONE:.+]]
  // CHECK-NEXT: ^[[BODY]]:
  // CHECK-NEXT: [[ROW:%.+]] = llvm.mul [[I]], {{.*}} overflow<nsw> : i64
  // CHECK-NEXT: [[AT:%.+]] = llvm.add [[ROW]], {{.*}} overflow<nsw> : i64
  // CHECK-NEXT: [[P:%.+]] = llvm.getelementptr inbounds %{{.*}}{{\[}}[[AT]]{{\]}} : (!llvm.ptr, i64) -> !llvm.ptr, f32
  // CHECK-NEXT: %v = llvm.load [[P]] {alignment = 4 : i64} : !llvm.ptr -> f32
  // CHECK-NEXT: [[NEXT:%.+]] = llvm.fadd [[SUM]], %v : f32
  // CHECK-NEXT: [[STEP:%.+]] = llvm.add [[I]], {{.*}} overflow<nsw> : i64
  // CHECK-NEXT: llvm.br ^[[HEAD]]([[STEP]], [[NEXT]] : i64, f32){{$}}
  // CHECK-NEXT: ^[[DONE]]:
  // CHECK: llvm.cond_br %small, ^[[THEN:.+]], ^[[ELSE:.+]]
  // CHECK-NEXT: ^[[THEN]]:
  // CHECK-NEXT: llvm.br ^[[END:.+]]([[SUM]] : f32)
  // CHECK-NEXT: ^[[ELSE]]:
  // CHECK-NEXT: [[Q:%.+]] = llvm.getelementptr inbounds %w[1] : (!llvm.ptr) -> !llvm.ptr, f32
  // CHECK-NEXT: %u = llvm.load [[Q]]
  // CHECK-NEXT: llvm.br ^[[END]](%u : f32)
  // CHECK-NEXT: ^[[END]](%r: f32):
  func.func private @aotc_m_kernel(%x: !aot.ptr<f32>, %y: !aot.ptr<f32>) -> i32 {
    %a = aot.buffer %x : !aot.ptr<f32> to memref<2x3xf32>
    %b = aot.buffer %y : !aot.ptr<f32> to memref<2x3xf32>
    %bias = aot.weight "bias" : memref<3xf32>
    %w = aot.weight "scale" : memref<2xf32>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %zero = arith.constant 0.000000e+00 : f32
    %sum = scf.for %i = %c0 to %c2 step %c1 iter_args(%acc = %zero) -> (f32) {
      %v = memref.load %a[%i, %c2] : memref<2x3xf32>
      %next = arith.addf %acc, %v : f32
      scf.yield %next : f32
    }
    %small = arith.cmpf olt, %sum, %zero : f32
    %r = scf.if %small -> (f32) {
      scf.yield %sum : f32
    } else {
      %u = memref.load %w[%c1] : memref<2xf32>
      scf.yield %u : f32
    }
    memref.store %r, %b[%c1, %c2] : memref<2x3xf32>
    %ok = arith.constant 0 : i32
    func.return %ok : i32
  }

  // A boolean takes a byte in memory, any of whose values but zero is true.
  // CHECK-LABEL: llvm.func @truth(
  // CHECK: [[B:%.+]] = llvm.load %p {alignment = 1 : i64} : !llvm.ptr -> i8
  // CHECK: %bit = llvm.icmp "ne" [[B]], {{.*}} : i8
  // CHECK: [[TO:%.+]] = llvm.getelementptr inbounds %p[2] : (!llvm.ptr) -> !llvm.ptr, i8
  // CHECK: [[BYTE:%.+]] = llvm.zext %bit : i1 to i8
  // CHECK: llvm.store [[BYTE]], [[TO]] {alignment = 1 : i64} : i8, !llvm.ptr
  func.func @truth(%p: !aot.ptr<i1>) -> i32 {
    %b = aot.buffer %p : !aot.ptr<i1> to memref<3xi1>
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %bit = memref.load %b[%c0] : memref<3xi1>
    memref.store %bit, %b[%c2] : memref<3xi1>
    %ok = arith.constant 0 : i32
    func.return %ok : i32
  }

  // The offset of a buffer counts once, whether its type says it or only the cast.
  // CHECK-LABEL: llvm.func @views(
  // CHECK: [[IN_TYPE:%.+]] = llvm.getelementptr inbounds %q[7] : (!llvm.ptr) -> !llvm.ptr, i16
  // CHECK-NEXT: llvm.load [[IN_TYPE]] {alignment = 2 : i64} : !llvm.ptr -> i16
  // CHECK-NEXT: %plain = llvm.getelementptr inbounds %q[4] : (!llvm.ptr) -> !llvm.ptr, i16
  // CHECK-NEXT: [[AT:%.+]] = llvm.getelementptr inbounds %plain[1] : (!llvm.ptr) -> !llvm.ptr, i16
  // CHECK-NEXT: llvm.load [[AT]]
  func.func @views(%q: !aot.ptr<i16>) -> i32 {
    %b = aot.buffer %q : !aot.ptr<i16> to memref<8xi16>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %typed = memref.reinterpret_cast %b to offset:[4], sizes:[2, 2], strides:[3, 1] : memref<8xi16> to memref<2x2xi16, strided<[3, 1], offset: 4>>
    %v = memref.load %typed[%c1, %c0] : memref<2x2xi16, strided<[3, 1], offset: 4>>
    %plain = memref.reinterpret_cast %b to offset:[4], sizes:[4], strides:[1] : memref<8xi16> to memref<4xi16>
    %u = memref.load %plain[%c1] : memref<4xi16>
    %ok = arith.constant 0 : i32
    func.return %ok : i32
  }
  // An index that does not fit 32 bits, or marks what is not known, is a value.
  // CHECK-LABEL: llvm.func @far(
  // CHECK: llvm.getelementptr inbounds %{{.+}}[2147483647] :
  // CHECK: llvm.getelementptr inbounds %{{.+}}[%next{{.*}}] :
  // CHECK: llvm.getelementptr inbounds %{{.+}}[-2147483647] :
  // CHECK: llvm.getelementptr inbounds %{{.+}}[%less{{.*}}] :
  func.func @far(%p: !aot.ptr<i8>, %v: i8) -> i32 {
    %b = aot.buffer %p : !aot.ptr<i8> to memref<5000000000xi8>
    %last = arith.constant 2147483647 : index
    %next = arith.constant 2147483648 : index
    %least = arith.constant -2147483647 : index
    %less = arith.constant -2147483648 : index
    memref.store %v, %b[%last] : memref<5000000000xi8>
    memref.store %v, %b[%next] : memref<5000000000xi8>
    memref.store %v, %b[%least] : memref<5000000000xi8>
    memref.store %v, %b[%less] : memref<5000000000xi8>
    %ok = arith.constant 0 : i32
    func.return %ok : i32
  }
}
