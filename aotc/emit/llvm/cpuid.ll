; Instructions that LLVM has nothing portable for: assembly in a function takes a parser, which there is for the host's
; only. What follows the bytes is never reached; it says that memory is written.

; mov eax, esi; mov ecx, edx; cpuid; and its results to [rdi], keeping rbx
define internal void @aotc.cpuid(ptr %r, i32 %leaf, i32 %part) noinline nounwind
    prologue [21 x i8] c"\53\89\F0\89\D1\0F\A2\89\07\89\5F\04\89\4F\08\89\57\0C\5B\C3\90" {
  store volatile i32 %leaf, ptr %r
  ret void
}

; xor ecx, ecx; xgetbv; mov [rdi], eax
define internal void @aotc.xgetbv(ptr %r) noinline nounwind prologue [8 x i8] c"\31\C9\0F\01\D0\89\07\C3" {
  store volatile i32 0, ptr %r
  ret void
}
