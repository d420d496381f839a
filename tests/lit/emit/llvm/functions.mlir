// RUN: aotc-opt %s -t llvm-text | filecheck %s

// CHECK: source_filename = "net"
// CHECK-NEXT: target triple = "thumbv7em-none-unknown-eabi"

builtin.module attributes {aot.name = "net", llvm.target_triple = "thumbv7em-none-unknown-eabi"} {
  // Globals keep linkage, section and alignment; one without contents is somebody else's.
  // CHECK: @table = internal constant [1 x { ptr, { i32, i16 } }] [ { ptr, { i32, i16 } } { ptr @f, { i32, i16 } { i32 7, i16 -1 } } ], align 8
  llvm.mlir.global internal constant @table() {alignment = 8 : i64} : !llvm.array<1 x !llvm.struct<(!llvm.ptr, !llvm.struct<(i32, i16)>)>> {
    %0 = llvm.mlir.undef : !llvm.array<1 x !llvm.struct<(!llvm.ptr, !llvm.struct<(i32, i16)>)>>
    %1 = llvm.mlir.addressof @f : !llvm.ptr
    %2 = llvm.mlir.constant(7 : i32) : i32
    %3 = llvm.mlir.constant(-1 : i16) : i16
    %4 = llvm.insertvalue %1, %0[0, 0] : !llvm.array<1 x !llvm.struct<(!llvm.ptr, !llvm.struct<(i32, i16)>)>>
    %5 = llvm.insertvalue %2, %4[0, 1, 0] : !llvm.array<1 x !llvm.struct<(!llvm.ptr, !llvm.struct<(i32, i16)>)>>
    %6 = llvm.insertvalue %3, %5[0, 1, 1] : !llvm.array<1 x !llvm.struct<(!llvm.ptr, !llvm.struct<(i32, i16)>)>>
    llvm.return %6 : !llvm.array<1 x !llvm.struct<(!llvm.ptr, !llvm.struct<(i32, i16)>)>>
  }
  // CHECK: @text = private unnamed_addr constant [4 x i8] c"a\22\0A\00", align 1
  llvm.mlir.global private unnamed_addr constant @text("a\22\0A\00") {alignment = 1 : i64} : !llvm.array<4 x i8>
  // CHECK: @arena = internal global [64 x i8] zeroinitializer, section ".ram", align 16
  llvm.mlir.global internal @arena(0 : i8) {alignment = 16 : i64, section = ".ram"} : !llvm.array<64 x i8>
  // CHECK: @blob = external constant [32 x i8], align 8
  llvm.mlir.global internal constant @blob() {alignment = 8 : i64, externally_initialized} : !llvm.array<32 x i8>

  // CHECK: define internal i32 @f(ptr align 16 dereferenceable(64) noalias noundef readonly %x, i32 %n) #0 {
  // CHECK-NEXT: entry:
  // CHECK-NEXT: ret i32 %n
  // CHECK-NEXT: }
  llvm.func internal @f(%x: !llvm.ptr {llvm.noalias, llvm.readonly, llvm.align = 16 : i64, llvm.noundef, llvm.dereferenceable = 64 : i64}, %n: i32) -> i32 attributes {no_unwind, passthrough = ["optsize", "no-builtins"], target_cpu = "cortex-m4", target_features = #llvm.target_features<["+dsp", "-fpregs"]>} {
    llvm.return %n : i32
  }
  // Any name is a name; functions of one kind share their attributes.
  // CHECK: define void @"odd name"() #0 {
  llvm.func @"odd name"() attributes {no_unwind, passthrough = ["optsize", "no-builtins"], target_cpu = "cortex-m4", target_features = #llvm.target_features<["+dsp", "-fpregs"]>} {
    llvm.return
  }
  // CHECK: declare float @expf(float) #1
  llvm.func @expf(f32) -> f32 attributes {no_unwind, passthrough = ["nofree", ["memory", "none"], ["key", "value"]]}
  // CHECK: attributes #0 = { nounwind optsize "no-builtins" "target-cpu"="cortex-m4" "target-features"="+dsp,-fpregs" }
  // CHECK-NEXT: attributes #1 = { nounwind nofree memory(none) "key"="value" }
}
