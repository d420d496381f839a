// RUN: aotc-opt %s --split-input-file -p push-rows | filecheck %s

// What is in front of the call that reads rows is done with the first ones, what is behind it with the last ones. None have come until
// all is done: where one of the calls fails, the next rows are the first ones.

// CHECK-LABEL: func.func @aotc_m_push_x(
// CHECK-SAME:    %x: !aot.ptr<i8>
// CHECK-SAME:    %rows: i32 {aot.dim = 1 : i64}, %y: !aot.ptr<i8>
// CHECK:         %pushed = memref.view
// CHECK:         [[PLACE:%.*]] = arith.constant 2 : index
// CHECK:         [[CAME:%.*]] = memref.load %pushed[[[PLACE]]]
// CHECK:         [[STOP:%.*]] = arith.addi [[CAME]], %rows : i32
// CHECK:         arith.cmpi uge
// CHECK:         arith.cmpi sgt, [[STOP]]
// CHECK:         aot.check
// CHECK:         [[NONE:%.*]] = arith.constant 0 : i32
// CHECK:         memref.store [[CAME]], %pushed
// CHECK:         memref.store [[STOP]], %pushed
// CHECK:         [[PLACE:%.*]] = arith.constant 2 : index
// CHECK:         memref.store [[NONE]], %pushed[[[PLACE]]]
// CHECK:         [[FIRST:%.*]] = arith.cmpi eq, [[CAME]]
// CHECK:         scf.if [[FIRST]] {
// CHECK-NEXT:      func.call @before
// CHECK-NEXT:      aot.check
// CHECK-NEXT:    }
// CHECK:         func.call @rows
// CHECK-NEXT:    aot.check
// CHECK:         [[LAST:%.*]] = arith.cmpi eq, [[STOP]]
// CHECK:         scf.if [[LAST]] {
// CHECK-NEXT:      func.call @behind
// CHECK-NEXT:      aot.check
// CHECK-NEXT:    }
// CHECK:         [[NEXT:%.*]] = arith.select [[LAST]], {{%.*}}, [[STOP]] : i32
// CHECK:         [[PLACE:%.*]] = arith.constant 2 : index
// CHECK:         memref.store [[NEXT]], %pushed[[[PLACE]]]
// CHECK:         [[STATUS:%.*]] = arith.extui [[LAST]] : i1 to i32
// CHECK:         func.return [[STATUS]] : i32
builtin.module {
  func.func private @before(!aot.ptr<i8>) -> i32
  func.func private @rows(!aot.ptr<i8>, !aot.ptr<i32>, !aot.ptr<i8>) -> i32
  func.func private @behind(!aot.ptr<i8>, !aot.ptr<i8>) -> i32
  func.func @aotc_m_push_x(%x: !aot.ptr<i8> {aot.name = "x", aot.dtype = "int8", aot.io = "input", aot.rows = 4 : i64, aot.shape = array<i64: 1, 10, 8>}, %y: !aot.ptr<i8> {aot.name = "y", aot.dtype = "int8", aot.io = "output", aot.shape = array<i64: 8>}) -> i32 attributes {aot.entry, aot.pushed = {offset = 64 : i64}} {
    %ok = arith.constant 0 : i32
    %ws = aot.workspace : memref<128xi8>
    %a = arith.constant 0 : index
    %buffer = memref.view %ws[%a][] : memref<128xi8> to memref<8xi8>
    %data = aot.data %buffer : memref<8xi8> to !aot.ptr<i8>
    %0 = func.call @before(%data) : (!aot.ptr<i8>) -> i32
    aot.check %0
    %p = arith.constant 64 : index
    %pushed = memref.view %ws[%p][] : memref<128xi8> to memref<3xi32>
    %count = aot.data %pushed : memref<3xi32> to !aot.ptr<i32>
    %1 = func.call @rows(%x, %count, %data) : (!aot.ptr<i8>, !aot.ptr<i32>, !aot.ptr<i8>) -> i32
    aot.check %1
    %2 = func.call @behind(%data, %y) : (!aot.ptr<i8>, !aot.ptr<i8>) -> i32
    aot.check %2
    func.return %ok : i32
  }
}

// -----

// Weights of the caller may begin as far from their start as the integers do from that of the workspace.

// CHECK-LABEL: func.func @aotc_m_push_x(
// CHECK:         %pushed = memref.view %ws
// CHECK:         memref.load %pushed
builtin.module {
  func.func private @rows(!aot.ptr<i8>, !aot.ptr<f32>, !aot.ptr<i32>) -> i32
  func.func @aotc_m_push_x(%x: !aot.ptr<i8> {aot.name = "x", aot.dtype = "int8", aot.io = "input", aot.rows = 4 : i64, aot.shape = array<i64: 1, 10, 8>}, %workspace: !aot.ptr<i8> {aot.io = "workspace"}, %weights: !aot.ptr<i8> {aot.io = "weights"}) -> i32 attributes {aot.entry, aot.pushed = {offset = 0 : i64}} {
    %ok = arith.constant 0 : i32
    %p = arith.constant 0 : index
    %blob = aot.buffer %weights : !aot.ptr<i8> to memref<8xi8>
    %weight = memref.view %blob[%p][] : memref<8xi8> to memref<2xf32>
    %w = aot.data %weight : memref<2xf32> to !aot.ptr<f32>
    %ws = aot.buffer %workspace : !aot.ptr<i8> to memref<128xi8>
    %pushed = memref.view %ws[%p][] : memref<128xi8> to memref<3xi32>
    %count = aot.data %pushed : memref<3xi32> to !aot.ptr<i32>
    %0 = func.call @rows(%x, %w, %count) : (!aot.ptr<i8>, !aot.ptr<f32>, !aot.ptr<i32>) -> i32
    aot.check %0
    func.return %ok : i32
  }
}

// -----

// Other entries stay as they are.

// CHECK-LABEL: func.func @aotc_m_run(
// CHECK-NEXT:    [[OK:%.*]] = arith.constant 0 : i32
// CHECK-NEXT:    func.return [[OK]] : i32
builtin.module {
  func.func @aotc_m_run(%x: !aot.ptr<i8> {aot.name = "x", aot.dtype = "int8", aot.io = "input", aot.shape = array<i64: 1, 10, 8>}) -> i32 attributes {aot.entry} {
    %ok = arith.constant 0 : i32
    func.return %ok : i32
  }
}
