// RUN: aotc-opt %s -p 'select-calling-convention{workspace=caller},place-weights,buffers-to-pointers,push-rows,add-reset' | filecheck %s
// RUN: aotc-opt %s -p 'select-calling-convention,place-weights,buffers-to-pointers,push-rows,add-reset' | filecheck %s --check-prefix=OWN

// A caller gives a pointer for each pool, in order, to the entry and to the function that resets it. At one offset there
// are %a in the one pool, and in the other the rows that have come, which only the entry that has one knows.

builtin.module attributes {aot.name = "m", aot.plan = {peak_bytes = 140 : i64, lower_bound_bytes = 140 : i64, optimal = true, alignment = 32 : i64, order = [], buffers = [], pools = [{name = "sram", size = 200 : i64, peak_bytes = 76 : i64}, {name = "spare", size = 10 : i64}, {name = "dtcm", size = 99 : i64, peak_bytes = 64 : i64}]}} {
  func.func private @rows(%x: memref<1x10x8xi8>, %pushed: memref<3xi32>, %a: memref<8xi8>) attributes {aot.kernel, aot.in_place = [[]]} {
    %i = arith.constant 0 : index
    %n = memref.load %pushed[%i] : memref<3xi32>
    %v = arith.trunci %n : i32 to i8
    memref.store %v, %a[%i] : memref<8xi8>
    func.return
  }
  func.func @main(%x: memref<1x10x8xi8> {aot.name = "x", aot.dtype = "int8", aot.io = "input", aot.rows = 4 : i64}, %y: memref<8xi8> {aot.name = "y", aot.dtype = "int8", aot.io = "output"}) attributes {aot.entry, aot.pushed = {offset = 64 : i64, pool = "sram"}, aot.states = [{aot.io = "state", aot.name = "h", aot.dtype = "int8", aot.next = "hn", aot.shape = array<i64: 8>, aot.offset = 0 : i64, aot.pool = "dtcm"}]} {
    %sram = aot.workspace "sram" : memref<76xi8>
    %dtcm = aot.workspace "dtcm" : memref<64xi8>
    %0 = arith.constant 64 : index
    %a = memref.view %dtcm[%0][] : memref<64xi8> to memref<8xi8>
    %1 = arith.constant 64 : index
    %pushed = memref.view %sram[%1][] : memref<76xi8> to memref<3xi32>
    func.call @rows(%x, %pushed, %a) : (memref<1x10x8xi8>, memref<3xi32>, memref<8xi8>) -> ()
    func.return
  }
}

// CHECK:      func.func @main(%x: {{.*}}, %rows: i32 {{.*}}, %y: !aot.ptr<i8>
// CHECK-SAME: %sram: !aot.ptr<i8> {aot.io = "workspace", aot.align = 32 : i64, aot.noalias, aot.pool = "sram"},
// CHECK-SAME: %spare: !aot.ptr<i8> {aot.io = "workspace", aot.align = 32 : i64, aot.noalias, aot.pool = "spare"},
// CHECK-SAME: %dtcm: !aot.ptr<i8> {aot.io = "workspace", aot.align = 32 : i64, aot.noalias, aot.pool = "dtcm"})
// CHECK:        %[[SRAM:.*]] = aot.buffer %sram : !aot.ptr<i8> to memref<76xi8>
// CHECK:        %[[DTCM:.*]] = aot.buffer %dtcm : !aot.ptr<i8> to memref<64xi8>
// CHECK:        memref.view %[[DTCM]][{{.*}} to memref<8xi8>
// CHECK:        [[PUSHED:%.*]] = memref.view %[[SRAM]][{{.*}} to memref<3xi32>
// CHECK:        memref.load [[PUSHED]]
// CHECK:      func.func @aotc_m_reset(%sram: !aot.ptr<i8> {{{.*}}}, %spare: !aot.ptr<i8> {{{.*}}}, %dtcm: !aot.ptr<i8> {{{.*}}}) -> i32 {
// CHECK-NEXT:   [[STATES:%.*]] = aot.buffer %dtcm : !aot.ptr<i8> to memref<64xi8>
// CHECK:        memref.view [[STATES]][
// CHECK:        [[ROWS:%.*]] = aot.buffer %sram : !aot.ptr<i8> to memref<76xi8>
// CHECK:        memref.view [[ROWS]][

// OWN:      func.func @main(%x: !aot.ptr<i8> {{{.*}}}, %rows: i32 {{{.*}}}, %y: !aot.ptr<i8> {{{.*}}}) -> i32
// OWN:        %sram = aot.workspace "sram" : memref<76xi8>
// OWN:        %dtcm = aot.workspace "dtcm" : memref<64xi8>
// OWN:      func.func @aotc_m_reset() -> i32 {
// OWN-NEXT:   aot.workspace "dtcm" : memref<64xi8>
// OWN:        aot.workspace "sram" : memref<76xi8>
