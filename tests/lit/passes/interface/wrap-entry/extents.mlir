// RUN: aotc-opt %s -p 'select-calling-convention{interface-api=packed operator-api=unpacked},mangle-symbols,place-weights,buffers-to-pointers,lower-calls,wrap-entry' | filecheck %s
// RUN: aotc-opt %s -p 'select-calling-convention,mangle-symbols,place-weights,buffers-to-pointers,lower-calls,wrap-entry' | filecheck %s --check-prefix TYPED
// RUN: not aotc-opt %s -p 'select-calling-convention{interface-api=micro operator-api=unpacked},mangle-symbols,place-weights,buffers-to-pointers,lower-calls,wrap-entry' 2>&1 | filecheck %s --check-prefix MICRO

// D27: the extents of an entry of open shape are those of the DLTensors; a pointer alone does not carry them. D1, D10:
// they follow their pointer, in order.

builtin.module attributes {aot.name = "m"} {
  func.func private @sum_0(%x: memref<?x3x?xf32>, %y: memref<1xi32>, %z: memref<?xi32>) attributes {aot.kernel} {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %a = memref.dim %x, %c0 : memref<?x3x?xf32>
    %b = memref.dim %x, %c2 : memref<?x3x?xf32>
    %c = memref.dim %z, %c0 : memref<?xi32>
    %d = arith.subi %a, %b : index
    %e = arith.subi %d, %c : index
    %v = arith.index_cast %e : index to i32
    memref.store %v, %y[%c0] : memref<1xi32>
    func.return
  }
  func.func @main(%x: memref<?x3x?xf32> {aot.name = "x", aot.dtype = "float32", aot.io = "input"}, %z: memref<?xi32> {aot.name = "z", aot.dtype = "int32", aot.io = "input"}, %y: memref<1xi32> {aot.name = "y", aot.dtype = "int32", aot.io = "output"}) attributes {aot.entry} {
    func.call @sum_0(%x, %y, %z) : (memref<?x3x?xf32>, memref<1xi32>, memref<?xi32>) -> ()
    func.return
  }
}

// CHECK:      func.func private @aotc_m_run(%x: !aot.ptr<f32> {{{.*}}aot.shape = array<i64: -1, 3, -1>}, %x_dim0: i32 {aot.dim = 0 : i64}, %x_dim2: i32 {aot.dim = 2 : i64}, %z: !aot.ptr<i32> {{{.*}}}, %z_dim0: i32 {aot.dim = 0 : i64}, %y: !aot.ptr<i32> {{{.*}}}, %resource_handle
// CHECK:      func.func @aotc_m_run_packed(
// CHECK-NEXT:   %[[COUNT:.*]] = arith.constant 3 : i32
// CHECK-NEXT:   arith.cmpi eq, %num_args, %[[COUNT]]
// CHECK:        %[[SHAPE:.*]] = aot.field %{{.*}}[0] "shape"
// CHECK:        %[[A:.*]] = aot.element %[[SHAPE]][0] : !aot.ptr<i64> -> i64
// CHECK-NEXT:   %[[MOST:.*]] = arith.constant 2147483648 : i64
// CHECK-NEXT:   %[[FITS:.*]] = arith.cmpi ult, %[[A]], %[[MOST]] : i64
// CHECK-NEXT:   aot.require %[[FITS]]
// CHECK-NEXT:   %[[AI:.*]] = arith.index_cast %[[A]] : i64 to index
// CHECK-NEXT:   %[[THREE:.*]] = aot.element %[[SHAPE]][1]
// CHECK:        arith.cmpi eq, %[[THREE]],
// CHECK:        %[[B:.*]] = aot.element %[[SHAPE]][2] : !aot.ptr<i64> -> i64
// CHECK:        aot.require
// CHECK-NEXT:   %[[BI:.*]] = arith.index_cast %[[B]] : i64 to index
// CHECK:        %[[X:.*]] = aot.ptr_cast %{{.*}} to !aot.ptr<f32>
// CHECK-NEXT:   %[[A32:.*]] = arith.index_cast %[[AI]] : index to i32
// CHECK-NEXT:   %[[B32:.*]] = arith.index_cast %[[BI]] : index to i32
// CHECK:        aot.field %{{.*}}[1] "v_handle"
// CHECK:        %[[Z:.*]] = aot.ptr_cast %{{.*}} to !aot.ptr<i32>
// CHECK-NEXT:   %[[C32:.*]] = arith.index_cast %{{.*}} : index to i32
// CHECK:        aot.field %{{.*}}[2] "v_handle"
// CHECK:        %[[S:.*]] = func.call @aotc_m_run(%[[X]], %[[A32]], %[[B32]], %[[Z]], %[[C32]], %{{.*}}, %resource_handle)
// CHECK-NEXT:   func.return %[[S]] : i32
// CHECK:      aot.global @aotc_m_shape_0 : i64 = [-1 : i64, 3 : i64, -1 : i64]
// An operator that is not packed is none of the functions that have names.
// CHECK:      aot.global @aotc_m_functions : !aot.struct<"AOTCFunctionEntry"> = {{\[\[}}"run", @aotc_m_run_packed], ["get_model_metadata", @aotc_m_get_model_metadata], [unit, unit]]
// CHECK:      aot.global @aotc_m_model_packed : !aot.struct<"AOTCModel"> = {{\[}}[@aotc_m_run_packed, 2 : i32, 1 : i32,

// TYPED:      func.func @aotc_m_run(%x: {{.*}}, %x_dim0: i32 {aot.dim = 0 : i64}, %x_dim2: i32 {aot.dim = 2 : i64}, %z: {{.*}}, %z_dim0: i32 {aot.dim = 0 : i64}, %y:

// MICRO: the pass wrap-entry cannot go on: an extent of aotc_m_run that is open; pointers do not carry it; use the interface c or packed [open-shapes]
