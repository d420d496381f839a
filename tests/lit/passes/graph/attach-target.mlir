// RUN: aotc-opt %s -p 'attach-target{target="x86-64-v3@l2=512K"}' | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=cortex-m4},attach-target{target=aarch64}' | filecheck %s --check-prefix LAST
// RUN: not aotc-opt %s -p 'attach-target{target=cortex-m44}' 2>&1 | filecheck %s --check-prefix UNKNOWN
// RUN: not aotc-opt %s -p choose-schedule 2>&1 | filecheck %s --check-prefix NONE

// CHECK:   builtin.module attributes {aot.name = "m", aot.target = "x86-64-v3@l2=512K"} {
// LAST:    builtin.module attributes {aot.name = "m", aot.target = "aarch64"} {
// UNKNOWN: cortex-m44
// NONE:    choose-schedule
// NONE-SAME: the module has no attribute aot.target; run attach-target first
builtin.module attributes {aot.name = "m"} {
}
