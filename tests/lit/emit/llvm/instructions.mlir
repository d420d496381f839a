// RUN: aotc-opt %s -t llvm-text | filecheck %s

// CHECK-LABEL: define double @instructions(i32 %i, float %x, ptr %p, i1 %c)
llvm.func @instructions(%i: i32, %x: f32, %p: !llvm.ptr, %c: i1) -> f64 {
  %two = llvm.mlir.constant(2 : i32) : i32
  // CHECK: %0 = add nuw nsw i32 %i, 2
  %0 = llvm.add %i, %two overflow<nsw,nuw> : i32
  // CHECK-NEXT: %1 = udiv i32 %0, %i
  %1 = llvm.udiv %0, %i : i32
  // CHECK-NEXT: %2 = lshr i32 %1, 2
  %2 = llvm.lshr %1, %two : i32
  // CHECK-NEXT: %3 = icmp ult i32 %2, 2
  %3 = llvm.icmp "ult" %2, %two : i32
  // CHECK-NEXT: %4 = zext i1 %3 to i64
  %4 = llvm.zext %3 : i1 to i64
  // CHECK-NEXT: %5 = trunc i64 %4 to i8
  %5 = llvm.trunc %4 : i64 to i8
  // CHECK-NEXT: %6 = sitofp i8 %5 to float
  %6 = llvm.sitofp %5 : i8 to f32
  // CHECK-NEXT: %7 = fptosi float %x to i32
  %7 = llvm_ext.fptosi %x : f32 to i32
  // Floats are exact: short where decimals are, bits where not.
  // CHECK-NEXT: %8 = fmul reassoc contract float %x, 5.000000e-01
  %half = llvm.mlir.constant(5.000000e-01 : f32) : f32
  %8 = llvm.fmul %x, %half {fastmathFlags = #llvm.fastmath<reassoc,contract>} : f32
  // CHECK-NEXT: %9 = fadd fast float %8, 0x3FB99999A0000000
  %tenth = llvm.mlir.constant(1.000000e-01 : f32) : f32
  %9 = llvm.fadd %8, %tenth {fastmathFlags = #llvm.fastmath<fast>} : f32
  // CHECK-NEXT: %10 = fcmp oge float %9, 0x7FF0000000000000
  %inf = llvm.mlir.constant(0x7F800000 : f32) : f32
  %10 = llvm.fcmp "oge" %9, %inf : f32
  // CHECK-NEXT: %11 = select i1 %10, float %9, float %x
  %11 = llvm.select %10, %9, %x : i1, f32
  // CHECK-NEXT: %12 = call float @llvm.sqrt.f32(float %11)
  %12 = llvm.intr.sqrt(%11) : (f32) -> f32
  // CHECK-NEXT: %13 = call float @llvm.fma.f32(float %12, float %x, float %x)
  %13 = llvm.intr.fma(%12, %x, %x) : (f32, f32, f32) -> f32
  // CHECK-NEXT: %14 = call i32 @llvm.smax.i32(i32 %i, i32 2)
  %14 = llvm.call_intrinsic "llvm.smax.i32"(%i, %two) : (i32, i32) -> i32
  // CHECK-NEXT: %15 = getelementptr inbounds { i32, [4 x float] }, ptr %p, i32 0, i32 1, i32 %14
  %15 = llvm.getelementptr inbounds %p[0, 1, %14] : (!llvm.ptr, i32) -> !llvm.ptr, !llvm.struct<(i32, !llvm.array<4 x f32>)>
  // CHECK-NEXT: %named = load float, ptr %15, align 4
  %named = llvm.load %15 {alignment = 4 : i64} : !llvm.ptr -> f32
  // CHECK-NEXT: store float %named, ptr %p, align 2
  llvm.store %named, %p {alignment = 2 : i64} : f32, !llvm.ptr
  // CHECK-NEXT: %16 = alloca i64, i32 2, align 8
  %16 = llvm.alloca %two x i64 {alignment = 8 : i64} : (i32) -> !llvm.ptr
  // CHECK-NEXT: store ptr null, ptr %16
  %null = llvm.mlir.zero : !llvm.ptr
  llvm.store %null, %16 : !llvm.ptr, !llvm.ptr
  // CHECK-NEXT: %17 = call i32 @callee(ptr @callee)
  %f = llvm.mlir.addressof @callee : !llvm.ptr
  %17 = llvm.call @callee(%f) : (!llvm.ptr) -> i32
  // CHECK-NEXT: %18 = fpext float %named to double
  %18 = llvm.fpext %named : f32 to f64
  // CHECK-NEXT: ret double %18
  llvm.return %18 : f64
}
// CHECK: declare i32 @callee(ptr)
llvm.func @callee(!llvm.ptr) -> i32

// Vectors.
// CHECK-LABEL: define <4 x float> @vectors(<4 x float> %v, float %s)
llvm.func @vectors(%v: vector<4xf32>, %s: f32) -> vector<4xf32> {
  // CHECK-NEXT: entry:
  // CHECK-NEXT: %0 = fmul <4 x float> %v, splat (float 2.000000e+00)
  %two = llvm.mlir.constant(dense<2.000000e+00> : vector<4xf32>) : vector<4xf32>
  %0 = llvm.fmul %v, %two : vector<4xf32>
  // CHECK-NEXT: %1 = insertelement <4 x float> %0, float %s, i32 0
  %lane = llvm.mlir.constant(0 : i32) : i32
  %1 = llvm.insertelement %s, %0[%lane : i32] : vector<4xf32>
  // CHECK-NEXT: %2 = shufflevector <4 x float> %1, <4 x float> %v, <4 x i32> <i32 0, i32 0, i32 5, i32 poison>
  %2 = llvm.shufflevector %1, %v [0, 0, 5, -1] : vector<4xf32>
  // CHECK-NEXT: %3 = call <4 x float> @llvm.fabs.v4f32(<4 x float> %2)
  %3 = llvm.intr.fabs(%2) : (vector<4xf32>) -> vector<4xf32>
  llvm.return %3 : vector<4xf32>
}
