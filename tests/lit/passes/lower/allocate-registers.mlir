// RUN: aotc-opt %s -p 'allocate-registers' | filecheck %s

// Values that are not alive at once share a register; what is alive keeps its own.
// CHECK-LABEL: vm.func @straight(%x: !vm.reg<0>, %y: !vm.reg<1>) {
vm.func @straight(%x: !vm.reg, %y: !vm.reg) {
  // CHECK-NEXT: %a = vm.call "f"(%x) : (!vm.reg<0>) -> !vm.reg<0>
  %a = vm.call "f"(%x) : (!vm.reg) -> !vm.reg
  // CHECK-NEXT: %b = vm.call "f"(%a) : (!vm.reg<0>) -> !vm.reg<2>
  %b = vm.call "f"(%a) : (!vm.reg) -> !vm.reg
  // CHECK-NEXT: %unused = vm.call "f"(%a) : (!vm.reg<0>) -> !vm.reg<3>
  %unused = vm.call "f"(%a) : (!vm.reg) -> !vm.reg
  // CHECK-NEXT: %c = vm.call "g"(%a, %b, %y) : (!vm.reg<0>, !vm.reg<2>, !vm.reg<1>) -> !vm.reg<0>
  %c = vm.call "g"(%a, %b, %y) : (!vm.reg, !vm.reg, !vm.reg) -> !vm.reg
  // CHECK-NEXT: vm.return %c : !vm.reg<0>
  vm.return %c : !vm.reg
}

// An input that is read in a later block is alive through the loop.
// CHECK-LABEL: vm.func @loop(%n: !vm.reg<0>, %x: !vm.reg<1>) {
vm.func @loop(%n: !vm.reg, %x: !vm.reg) {
  // CHECK-NEXT: vm.goto ^[[HEAD:.*]](%n : !vm.reg<0>)
  vm.goto ^head(%n : !vm.reg)
// CHECK-NEXT: ^[[HEAD]](%i: !vm.reg<0>):
^head(%i: !vm.reg):
  // CHECK-NEXT: %c = vm.call "more"(%i) : (!vm.reg<0>) -> !vm.reg<2>
  %c = vm.call "more"(%i) : (!vm.reg) -> !vm.reg
  vm.if %c : !vm.reg, ^body, ^end
^body:
  // CHECK: %j = vm.call "less"(%i) : (!vm.reg<0>) -> !vm.reg<0>
  %j = vm.call "less"(%i) : (!vm.reg) -> !vm.reg
  // CHECK-NEXT: vm.goto ^[[HEAD]](%j : !vm.reg<0>)
  vm.goto ^head(%j : !vm.reg)
^end:
  // CHECK: vm.return %x : !vm.reg<1>
  vm.return %x : !vm.reg
}

// Two values change places: a circle of moves takes one more register.
// CHECK-LABEL: vm.func @swap(%a: !vm.reg<0>, %b: !vm.reg<1>, %c: !vm.reg<2>) {
vm.func @swap(%a: !vm.reg, %b: !vm.reg, %c: !vm.reg) {
  // CHECK-NEXT: vm.goto ^[[HEAD:.*]](%a, %b : !vm.reg<0>, !vm.reg<1>)
  vm.goto ^head(%a, %b : !vm.reg, !vm.reg)
^head(%x: !vm.reg, %y: !vm.reg):
  vm.if %c : !vm.reg, ^body, ^end
^body:
  // CHECK:      [[KEPT:%.*]] = vm.call "vm.builtin.move"(%y) : (!vm.reg<1>) -> !vm.reg<3>
  // CHECK-NEXT: [[Y:%.*]] = vm.call "vm.builtin.move"(%x) : (!vm.reg<0>) -> !vm.reg<1>
  // CHECK-NEXT: [[X:%.*]] = vm.call "vm.builtin.move"([[KEPT]]) : (!vm.reg<3>) -> !vm.reg<0>
  // CHECK-NEXT: vm.goto ^[[HEAD]]([[X]], [[Y]] : !vm.reg<0>, !vm.reg<1>)
  vm.goto ^head(%y, %x : !vm.reg, !vm.reg)
^end:
  vm.return %x : !vm.reg
}

// What has registers keeps them.
// CHECK-LABEL: vm.func @kept(%a: !vm.reg<0>) {
vm.func @kept(%a: !vm.reg<0>) {
  // CHECK-NEXT: %b = vm.call "f"(%a) : (!vm.reg<0>) -> !vm.reg<7>
  %b = vm.call "f"(%a) : (!vm.reg<0>) -> !vm.reg<7>
  vm.return %b : !vm.reg<7>
}

// A function without arguments has no registers yet.
// CHECK-LABEL: vm.func @no_arguments() {
vm.func @no_arguments() {
  // CHECK-NEXT: %a = vm.call "f"() : () -> !vm.reg<0>
  %a = vm.call "f"() : () -> !vm.reg
  vm.return %a : !vm.reg
}

// Blocks are in no order: what one reads that another behind it defines keeps its register, too.
// CHECK-LABEL: vm.func @backward(%x: !vm.reg<0>) {
vm.func @backward(%x: !vm.reg) {
  vm.goto ^first
// CHECK: ^{{.*}}:
// CHECK-NEXT: %b = vm.call "f"(%x) : (!vm.reg<0>) -> !vm.reg<2>
// CHECK-NEXT: %c = vm.call "g"(%a, %b, %x) : (!vm.reg<1>, !vm.reg<2>, !vm.reg<0>) -> !vm.reg<0>
^second:
  %b = vm.call "f"(%x) : (!vm.reg) -> !vm.reg
  %c = vm.call "g"(%a, %b, %x) : (!vm.reg, !vm.reg, !vm.reg) -> !vm.reg
  vm.return %c : !vm.reg
// CHECK: ^{{.*}}:
// CHECK-NEXT: %a = vm.call "f"(%x) : (!vm.reg<0>) -> !vm.reg<1>
^first:
  %a = vm.call "f"(%x) : (!vm.reg) -> !vm.reg
  vm.goto ^second
}
