// RUN: aotc-opt %s -p 'attach-target{target=cortex-m0},convert-to-llvm{optimize-size=true weights-section=".flash" workspace-section=".ram2"}' | filecheck %s --check-prefix M0
// RUN: aotc-opt %s -p 'attach-target{target=x86-64-v3},convert-to-llvm' | filecheck %s --check-prefix X86
// RUN: aotc-opt %s -p 'attach-target{target=x86-64-v3},convert-to-llvm{index-bitwidth=32}' | filecheck %s --check-prefix NARROW

// M0: llvm.target_triple = "thumbv6m-none-unknown-eabi"
// M0: llvm.mlir.global internal constant @aotc_m_weights() {addr_space = 0 : i32, alignment = 8 : i64, section = ".flash", {{.*}}
// M0: llvm.mlir.global internal @aotc_m_workspace(0 : i8) {addr_space = 0 : i32, alignment = 16 : i64, section = ".ram2"}
// X86: llvm.target_triple = "x86_64-unknown-linux-gnu"
// X86: llvm.mlir.global internal constant @aotc_m_weights() {addr_space = 0 : i32, alignment = 64 : i64, {{.*}}

builtin.module attributes {aot.name = "m"} {
  // What a processor has no instructions for is a function of the module.
  // M0: llvm.func internal @aotc.floor.f32(%x: f32) -> f32
  // M0: llvm.func internal @aotc.maximum.f32(%x{{.*}}: f32, %y: f32) -> f32
  // M0: llvm.func internal @aotc.f16_to_f32(%x{{.*}}: i16) -> f32
  // M0: llvm.func internal @aotc.f32_to_f16(%x{{.*}}: f32) -> i16
  // M0: llvm.func internal @aotc.f32_to_bf16(%x{{.*}}: f32) -> i16
  // M0: llvm.lshr {{.*}} : i32
  // M0: llvm.func internal @aotc.maximum.f64(%x{{.*}}: f64, %y{{.*}}: f64) -> f64
  // M0-LABEL: llvm.func @rounding(
  // M0-SAME: passthrough = ["optsize", "minsize", "no-builtins"], target_cpu = "cortex-m0"
  // M0: llvm.icmp "slt" %{{.*}}, %{{.*}} : i32
  // M0: [[A:%.+]] = llvm.call @aotc.floor.f32(%v) : (f32) -> f32
  // M0: llvm.call @aotc.maximum.f32([[A]], %v) : (f32, f32) -> f32
  // X86-LABEL: llvm.func @rounding(
  // X86-SAME: {no_unwind, target_cpu = "x86-64-v3"}
  // X86: llvm.icmp "slt" %{{.*}}, %{{.*}} : i64
  // X86: [[A:%.+]] = llvm.call_intrinsic "llvm.floor.f32"(%v) : (f32) -> f32
  // X86: llvm.call_intrinsic "llvm.maximum.f32"([[A]], %v) : (f32, f32) -> f32
  // NARROW: llvm.icmp "slt" %{{.*}}, %{{.*}} : i32
  func.func @rounding(%p: !aot.ptr<f32>) -> i32 {
    %ws = aot.workspace : memref<96xi8>
    %w = aot.weight "w" : memref<2xf32>
    %b = aot.buffer %p : !aot.ptr<f32> to memref<8xf32>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    scf.for %i = %c0 to %c8 step %c1 {
      %v = memref.load %b[%i] : memref<8xf32>
      %f = math.floor %v : f32
      %m = arith.maximumf %f, %v : f32
      memref.store %m, %b[%i] : memref<8xf32>
    }
    %ok = arith.constant 0 : i32
    func.return %ok : i32
  }

  // bf16 and f16 are their bits on every target.
  // M0-LABEL: llvm.func @narrow(
  // M0: [[HALF:%.+]] = llvm.mlir.constant(15872 : i16) : i16
  // M0: [[BRAIN:%.+]] = llvm.mlir.constant(16320 : i16) : i16
  // M0: [[H:%.+]] = llvm.load %{{.+}} {alignment = 2 : i64} : !llvm.ptr -> i16
  // M0: [[W:%.+]] = llvm.call @aotc.f16_to_f32([[H]]) : (i16) -> f32
  // M0: [[N:%.+]] = llvm.call @aotc.f32_to_f16([[W]]) : (f32) -> i16
  // M0: llvm.store [[N]]
  // M0: llvm.store [[HALF]]
  // M0: llvm.store [[BRAIN]]
  // X86-LABEL: llvm.func @narrow(
  // X86: [[H:%.+]] = llvm.load %{{.+}} {alignment = 2 : i64} : !llvm.ptr -> i16
  // X86: [[F:%.+]] = llvm.bitcast [[H]] : i16 to f16
  // X86: [[W:%.+]] = llvm.fpext [[F]] : f16 to f32
  // X86: [[R:%.+]] = llvm.fptrunc [[W]] : f32 to f16
  // X86: [[N:%.+]] = llvm.bitcast [[R]] : f16 to i16
  // X86: llvm.store [[N]]
  // X86: [[B:%.+]] = llvm.load %{{.+}} {alignment = 2 : i64} : !llvm.ptr -> i16
  // X86: [[Z:%.+]] = llvm.zext [[B]] : i16 to i32
  // X86: [[S:%.+]] = llvm.shl [[Z]], {{.*}} : i32
  // X86: [[E:%.+]] = llvm.bitcast [[S]] : i32 to f32
  // X86: llvm.call @aotc.f32_to_bf16([[E]]) : (f32) -> i16
  func.func @narrow(%p: !aot.ptr<f16>, %q: !aot.ptr<bf16>) -> i32 {
    %b = aot.buffer %p : !aot.ptr<f16> to memref<8xf16>
    %c = aot.buffer %q : !aot.ptr<bf16> to memref<8xbf16>
    %c1 = arith.constant 1 : index
    %h = memref.load %b[%c1] : memref<8xf16>
    %w = arith.extf %h : f16 to f32
    %n = arith.truncf %w : f32 to f16
    memref.store %n, %b[%c1] : memref<8xf16>
    %half = arith.constant 1.5 : f16
    %brain = arith.constant 1.5 : bf16
    memref.store %half, %b[%c1] : memref<8xf16>
    memref.store %brain, %c[%c1] : memref<8xbf16>
    %k = memref.load %c[%c1] : memref<8xbf16>
    %x = arith.extf %k : bf16 to f32
    %y = arith.truncf %x : f32 to bf16
    memref.store %y, %c[%c1] : memref<8xbf16>
    %wide = arith.extf %x : f32 to f64
    %most = arith.maximumf %wide, %wide : f64
    %ok = arith.constant 0 : i32
    func.return %ok : i32
  }
}
