// RUN: aotc-opt %s | aotc-opt | filecheck %s

// CHECK-LABEL: vm.func @main(%x: !vm.reg, %y: !vm.reg) {
vm.func @main(%x: !vm.reg, %y: !vm.reg) {
  // CHECK-NEXT: %i = vm.immediate -10
  %i = vm.immediate -10
  // CHECK-NEXT: %w = vm.constant dense<[1, 2]> : tensor<2xi32>
  %w = vm.constant dense<[1, 2]> : tensor<2xi32>
  // CHECK-NEXT: %big = vm.constant dense_resource<weights> : tensor<1000xf32>
  %big = vm.constant dense_resource<weights> : tensor<1000xf32>
  // CHECK-NEXT: %kind = vm.constant bf16
  %kind = vm.constant bf16
  // CHECK-NEXT: %at = vm.place 64 : memref<1x8xf32>
  %at = vm.place 64 : memref<1x8xf32>
  // CHECK-NEXT: %state = vm.state
  %state = vm.state
  // CHECK-NEXT: %r = vm.call "f"(%x, %i, %w, %big, %kind, %at, %state) : (!vm.reg, !vm.inline, !vm.inline, !vm.inline, !vm.inline, !vm.inline, !vm.inline) -> !vm.reg
  %r = vm.call "f"(%x, %i, %w, %big, %kind, %at, %state) : (!vm.reg, !vm.inline, !vm.inline, !vm.inline, !vm.inline, !vm.inline, !vm.inline) -> !vm.reg
  // CHECK-NEXT: vm.call "g"() : () -> ()
  vm.call "g"() : () -> ()
  // CHECK-NEXT: vm.if %y : !vm.reg, ^[[THEN:.*]], ^[[ELSE:.*]]
  vm.if %y : !vm.reg, ^then, ^else
// CHECK-NEXT: ^[[THEN]]:
^then:
  // CHECK-NEXT: vm.goto ^[[END:.*]](%r, %y : !vm.reg, !vm.reg)
  vm.goto ^end(%r, %y : !vm.reg, !vm.reg)
^else:
  vm.goto ^then
// CHECK: ^[[END]](%a: !vm.reg, %b: !vm.reg):
^end(%a: !vm.reg, %b: !vm.reg):
  // CHECK-NEXT: vm.return %b : !vm.reg
  vm.return %b : !vm.reg
}

// With registers.
// CHECK-LABEL: vm.func @allocated(%x: !vm.reg<0>) {
vm.func @allocated(%x: !vm.reg<0>) {
  // CHECK-NEXT: %r = vm.call "main"(%x, %x) : (!vm.reg<0>, !vm.reg<0>) -> !vm.reg<1>
  %r = vm.call "main"(%x, %x) : (!vm.reg<0>, !vm.reg<0>) -> !vm.reg<1>
  // CHECK-NEXT: vm.goto ^[[END:.*]](%r : !vm.reg<1>)
  vm.goto ^end(%r : !vm.reg<1>)
^end(%a: !vm.reg<1>):
  vm.return %a : !vm.reg<1>
}
