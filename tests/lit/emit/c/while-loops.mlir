// RUN: aotc-opt %s -t c | filecheck %s
// RUN: aotc-opt %s -p convert-to-llvm | filecheck %s --check-prefix LLVM

// A condition that is an expression stands in the head; slices are pointers at an offset of the iteration.
// CHECK-LABEL: static int32_t search(int32_t n, bool *go, float *restrict x)
// CHECK:           int32_t i = 0;
// CHECK-NEXT:      while (go[0] && (i < n)) {
// CHECK-NEXT:          status = step(&x[i * 4], go);
// CHECK-NEXT:          if (status != 0) {
// CHECK-NEXT:              return status;
// CHECK-NEXT:          }
// CHECK-NEXT:          i += 1;
// CHECK-NEXT:      }
// CHECK-NEXT:      return 0;
// LLVM-LABEL: llvm.func internal @search
// LLVM:         llvm.br ^while
// LLVM:       ^while([[I:%.*]]: i64):
// LLVM:         llvm.load
// LLVM:         [[ALL:%.*]] = llvm.and
// LLVM-NEXT:    llvm.cond_br [[ALL]], ^body, ^done
// LLVM:       ^body:
// LLVM:         [[AT:%.*]] = llvm.mul [[I]],
// LLVM-NEXT:    llvm.getelementptr inbounds %x_p[[[AT]]]
// LLVM:         llvm.call @step
// LLVM:         [[NEXT:%.*]] = llvm.add [[I]],
// LLVM:         llvm.br ^while([[NEXT]] : i64)
func.func private @step(!aot.ptr<f32>, !aot.ptr<i1>) -> i32
func.func private @search(%n: i32, %go_p: !aot.ptr<i1> {aot.name = "go"}, %x_p: !aot.ptr<f32> {aot.name = "x", aot.noalias}) -> i32 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %most = arith.index_cast %n : i32 to index
  %go = aot.buffer %go_p : !aot.ptr<i1> to memref<i1>
  %x = aot.buffer %x_p : !aot.ptr<f32> to memref<3x4xf32>
  %last = scf.while (%i = %zero) : (index) -> index {
    %on = memref.load %go[] : memref<i1>
    %in = arith.cmpi slt, %i, %most : index
    %all = arith.andi %on, %in : i1
    scf.condition(%all) %i : index
  } do {
  ^bb0(%i: index):
    %at = arith.muli %i, %four : index
    %e = memref.reinterpret_cast %x to offset: [%at], sizes: [4], strides: [1] : memref<3x4xf32> to memref<4xf32>
    %e_p = aot.data %e : memref<4xf32> to !aot.ptr<f32>
    %s = func.call @step(%e_p, %go_p) : (!aot.ptr<f32>, !aot.ptr<i1>) -> i32
    aot.check %s
    %next = arith.addi %i, %one : index
    scf.yield %next : index
  }
  %ok = arith.constant 0 : i32
  func.return %ok : i32
}
