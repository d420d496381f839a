// RUN: aotc-opt %s -p 'attach-target{target=x86-64-v4},convert-to-llvm' -t llvm-text | filecheck %s

// A helper on vectors is never called, or every register would have to be saved.
// CHECK: define internal <4 x i16> @aotc.f32_to_bf16.v4(<4 x float> %x) [[HELPER:#[0-9]+]] {

// Registers at one base are displacements of one pointer; the timings to schedule by are those of a processor that
// keeps what is in registers there.
// CHECK-LABEL: define i32 @memory(
// CHECK-SAME: [[REGISTERS:#[0-9]+]] {
func.func @memory(%p: !aot.ptr<f32>, %q: !aot.ptr<i1>) -> i32 {
  %x = aot.buffer %p : !aot.ptr<f32> to memref<8x64xf32>
  %m = aot.buffer %q : !aot.ptr<i1> to memref<64xi1>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  // CHECK: %i = phi i64
  scf.for %i = %c0 to %c3 step %c1 {
    // CHECK: [[ROW:%.+]] = mul nsw i64 %i, 64
    // CHECK-NEXT: [[INDEX:%.+]] = add nsw i64 [[ROW]], 3
    // CHECK-NEXT: [[BASE:%.+]] = getelementptr inbounds float, ptr %p, i64 [[INDEX]]
    // CHECK-NEXT: %a = load <4 x float>, ptr [[BASE]], align 4
    %a = aot.tile_load %x[%i, %c3] {strides = array<i64: 1>} : memref<8x64xf32> -> vector<4xf32>
    // CHECK-NEXT: [[ONE:%.+]] = getelementptr inbounds float, ptr [[BASE]], i32 7
    // CHECK-NEXT: [[SCALAR:%.+]] = load float, ptr [[ONE]], align 4
    // CHECK-NEXT: [[FIRST:%.+]] = insertelement <4 x float> zeroinitializer, float [[SCALAR]], i64 0
    // CHECK-NEXT: %b = shufflevector <4 x float> [[FIRST]], <4 x float> [[FIRST]], <4 x i32> zeroinitializer
    %b = aot.tile_load %x[%i, %c3] {strides = array<i64: 0>, offset = 7 : i64} : memref<8x64xf32> -> vector<4xf32>
    // CHECK-NEXT: [[G0:%.+]] = load float, ptr [[BASE]], align 4
    // CHECK-NEXT: [[V0:%.+]] = insertelement <4 x float> zeroinitializer, float [[G0]], i64 0
    // CHECK-NEXT: [[P1:%.+]] = getelementptr inbounds float, ptr [[BASE]], i32 5
    // CHECK-NEXT: [[G1:%.+]] = load float, ptr [[P1]], align 4
    // CHECK-NEXT: %c = insertelement <4 x float> [[V0]], float [[G1]], i64 1
    %c = aot.tile_load %x[%i, %c3] {strides = array<i64: 5>, valid = 2 : i64} : memref<8x64xf32> -> vector<4xf32>
    // CHECK-NEXT: %d = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 [[BASE]], <4 x i1> <i1 1, i1 1, i1 1, i1 0>, <4 x float> zeroinitializer)
    %d = aot.tile_load %x[%i, %c3] {strides = array<i64: 1>, valid = 3 : i64} : memref<8x64xf32> -> vector<4xf32>
    // CHECK-NEXT: [[ABC:%.+]] = call <4 x float> @llvm.fma.v4f32(<4 x float> %a, <4 x float> %b, <4 x float> %c)
    %e = math.fma %a, %b, %c : vector<4xf32>
    // CHECK-NEXT: call void @llvm.masked.store.v4f32.p0(<4 x float> [[ABC]], ptr align 4 [[BASE]], <4 x i1> <i1 1, i1 1, i1 0, i1 0>)
    aot.tile_store %e, %x[%i, %c3] {strides = array<i64: 1>, valid = 2 : i64} : vector<4xf32>, memref<8x64xf32>
    // CHECK-NEXT: [[LANE:%[a-z0-9]+]] = extractelement <4 x float> [[ABC]], i64 0
    // CHECK-NEXT: store float [[LANE]], ptr [[BASE]], align 4
    aot.tile_store %e, %x[%i, %c3] {strides = array<i64: 1>, valid = 1 : i64} : vector<4xf32>, memref<8x64xf32>
    // CHECK-NEXT: [[LANE:%.+]] = extractelement <4 x float> %d, i64 0
    // CHECK-NEXT: store float [[LANE]], ptr [[BASE]], align 4
    // CHECK-NEXT: [[LANE:%.+]] = extractelement <4 x float> %d, i64 1
    // CHECK-NEXT: [[NEXT:%.+]] = getelementptr inbounds float, ptr [[BASE]], i32 64
    // CHECK-NEXT: store float [[LANE]], ptr [[NEXT]], align 4
    aot.tile_store %d, %x[%i, %c3] {strides = array<i64: 64>, valid = 2 : i64} : vector<4xf32>, memref<8x64xf32>
    // Booleans are bytes in memory.
    // CHECK: [[BYTES:%.+]] = load <4 x i8>, ptr {{%.+}}, align 1
    // CHECK-NEXT: %t = icmp ne <4 x i8> [[BYTES]], zeroinitializer
    // CHECK-NEXT: %s = select <4 x i1> %t, <4 x float> %a, <4 x float> %b
    %t = aot.tile_load %m[%i] {strides = array<i64: 1>} : memref<64xi1> -> vector<4xi1>
    %s = aot.tile_select %t, %a, %b : vector<4xi1>, vector<4xf32>
    // CHECK-NEXT: %u = fcmp olt <4 x float> %s, %a
    // CHECK-NEXT: [[BYTES:%.+]] = zext <4 x i1> %u to <4 x i8>
    // CHECK-NEXT: store <4 x i8> [[BYTES]], ptr {{%.+}}, align 1
    %u = aot.tile_compare "olt" %s, %a : vector<4xf32> -> vector<4xi1>
    aot.tile_store %u, %m[%i] {strides = array<i64: 1>} : vector<4xi1>, memref<64xi1>
    // What is fetched may lie anywhere.
    // CHECK: [[FAR:%.+]] = getelementptr float, ptr %p, i64 {{%.+}}
    // CHECK-NEXT: call void @llvm.prefetch.p0(ptr [[FAR]], i32 0, i32 2, i32 1)
    aot.prefetch %x[%i, %c1] : memref<8x64xf32>
  }
  %ok = arith.constant 0 : i32
  func.return %ok : i32
}

// CHECK-LABEL: define i32 @lanes(
func.func @lanes(%p: !aot.ptr<f32>, %h: !aot.ptr<bf16>, %s: f32) -> i32 {
  %x = aot.buffer %p : !aot.ptr<f32> to memref<64xf32>
  %y = aot.buffer %h : !aot.ptr<bf16> to memref<64xbf16>
  %c0 = arith.constant 0 : index
  %a = aot.tile_load %x[%c0] {strides = array<i64: 1>} : memref<64xf32> -> vector<4xf32>
  // CHECK: [[FIRST:%.+]] = insertelement <4 x float> zeroinitializer, float %s, i64 0
  // CHECK-NEXT: %b = shufflevector <4 x float> [[FIRST]], <4 x float> [[FIRST]], <4 x i32> zeroinitializer
  %b = vector.broadcast %s : f32 to vector<4xf32>
  // CHECK-NEXT: %c = shufflevector <4 x float> %a, <4 x float> %b, <2 x i32> <i32 3, i32 4>
  %c = vector.shuffle %a, %b [3, 4] : vector<4xf32>, vector<4xf32>
  // CHECK-NEXT: extractelement <2 x float> %c, i64 1
  %d = vector.extract %c[1] : f32 from vector<2xf32>
  memref.store %d, %x[%c0] : memref<64xf32>
  // CHECK: %g = call <4 x float> @llvm.maximum.v4f32(<4 x float> %a, <4 x float> %b)
  %g = arith.maximumf %a, %b : vector<4xf32>
  // CHECK-NEXT: call <4 x float> @llvm.roundeven.v4f32(<4 x float> %g)
  %i = math.roundeven %g : vector<4xf32>
  // CHECK-NEXT: %j = fptosi <4 x float> %i to <4 x i8>
  // CHECK-NEXT: %k = call <4 x i8> @llvm.umax.v4i8(<4 x i8> %j, <4 x i8> splat (i8 -7))
  %j = aot.tile_convert "fptosi" %i : vector<4xf32> -> vector<4xi8>
  %seven = arith.constant dense<-7> : vector<4xi8>
  %k = arith.maxui %j, %seven : vector<4xi8>
  // bf16 is held as its bits and computed in f32.
  // CHECK-NEXT: %l = sitofp <4 x i8> %k to <4 x float>
  // CHECK-NEXT: %n = call <4 x i16> @aotc.f32_to_bf16.v4(<4 x float> %l)
  // CHECK: store <4 x i16> %n, ptr %h, align 2
  %l = aot.tile_convert "sitofp" %k : vector<4xi8> -> vector<4xf32>
  %n = aot.tile_convert "truncf" %l : vector<4xf32> -> vector<4xbf16>
  aot.tile_store %n, %y[%c0] {strides = array<i64: 1>} : vector<4xbf16>, memref<64xbf16>
  %ok = arith.constant 0 : i32
  func.return %ok : i32
}

// CHECK-LABEL: define i32 @scalars(
// CHECK-SAME: [[SCALARS:#[0-9]+]] {
func.func @scalars(%s: f32) -> i32 {
  %ok = arith.constant 0 : i32
  func.return %ok : i32
}

// The first narrow integers of a vector are loaded in words: a power of two of them as a shorter vector.
// CHECK-LABEL: define i32 @words(
// CHECK:       [[SHORT:%.+]] = load <4 x i32>, ptr %{{.+}}, align 1
// CHECK-NEXT:  [[LONG:%.+]] = shufflevector <4 x i32> [[SHORT]], <4 x i32> zeroinitializer, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 4, i32 4, i32 4>
// CHECK-NEXT:  %a = bitcast <8 x i32> [[LONG]] to <32 x i8>
// CHECK-NEXT:  [[WORDS:%.+]] = call <8 x i32> @llvm.masked.load.v8i32.p0(ptr align 1 %{{.+}}, <8 x i1> <i1 1, i1 1, i1 1, i1 0, i1 0, i1 0, i1 0, i1 0>, <8 x i32> zeroinitializer)
// CHECK-NEXT:  %b = bitcast <8 x i32> [[WORDS]] to <32 x i8>
// CHECK-NEXT:  %c = call <32 x i8> @llvm.masked.load.v32i8.p0(
func.func @words(%p: !aot.ptr<i8>) -> i32 {
  %x = aot.buffer %p : !aot.ptr<i8> to memref<64xi8>
  %c0 = arith.constant 0 : index
  %a = aot.tile_load %x[%c0] {strides = array<i64: 1>, valid = 16 : i64} : memref<64xi8> -> vector<32xi8>
  %b = aot.tile_load %x[%c0] {strides = array<i64: 1>, valid = 12 : i64} : memref<64xi8> -> vector<32xi8>
  %c = aot.tile_load %x[%c0] {strides = array<i64: 1>, valid = 13 : i64} : memref<64xi8> -> vector<32xi8>
  aot.tile_store %a, %x[%c0] {strides = array<i64: 1>} : vector<32xi8>, memref<64xi8>
  aot.tile_store %b, %x[%c0] {strides = array<i64: 1>} : vector<32xi8>, memref<64xi8>
  aot.tile_store %c, %x[%c0] {strides = array<i64: 1>} : vector<32xi8>, memref<64xi8>
  %ok = arith.constant 0 : i32
  func.return %ok : i32
}

// CHECK-DAG: attributes [[HELPER]] = { nounwind alwaysinline "target-cpu"
// CHECK-DAG: attributes [[SCALARS]] = { nounwind "target-cpu"="x86-64-v4" "target-features"
// CHECK-DAG: attributes [[REGISTERS]] = { nounwind "frame-pointer"="all" "target-cpu"="x86-64-v4" "tune-cpu"="sapphirerapids" "target-features"
