// RUN: aotc-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

// CHECK: the values that are passed are not those, or not in the registers, of the block
vm.func @count(%x: !vm.reg) {
  vm.goto ^end(%x : !vm.reg)
^end(%a: !vm.reg, %b: !vm.reg):
  vm.return %a : !vm.reg
}

// -----

// CHECK: the values that are passed are not those, or not in the registers, of the block
vm.func @register(%x: !vm.reg<0>) {
  vm.goto ^end(%x : !vm.reg<0>)
^end(%a: !vm.reg<1>):
  vm.return %a : !vm.reg<1>
}

// -----

// CHECK: vm.if passes nothing to a block
vm.func @passes(%x: !vm.reg) {
  vm.if %x : !vm.reg, ^end, ^other
^end(%a: !vm.reg):
  vm.return %a : !vm.reg
^other:
  vm.return %x : !vm.reg
}

// -----

// CHECK: some values have a register, and some have none
vm.func @some(%x: !vm.reg<0>) {
  %r = vm.call "f"() : () -> !vm.reg
  vm.return %r : !vm.reg
}

// -----

// CHECK: the inputs of a function are in its first registers
vm.func @inputs(%x: !vm.reg<1>) {
  vm.return %x : !vm.reg<1>
}

// -----

// CHECK: two arguments of a block are in one register
vm.func @twice(%x: !vm.reg<0>) {
  vm.goto ^end(%x, %x : !vm.reg<0>, !vm.reg<0>)
^end(%a: !vm.reg<0>, %b: !vm.reg<0>):
  vm.return %a : !vm.reg<0>
}

// -----

// CHECK: the arguments of blocks are in registers
vm.func @inline(%x: !vm.inline) {
  %r = vm.call "f"(%x) : (!vm.inline) -> !vm.reg
  vm.return %r : !vm.reg
}

// -----

// CHECK: the name of a function is empty
vm.func @nameless(%x: !vm.reg) {
  vm.call ""() : () -> ()
  vm.return %x : !vm.reg
}

// -----

// CHECK: a place is some bytes behind the start of the workspace, and of a known shape
vm.func @place(%x: !vm.reg) {
  %p = vm.place -1 : memref<4xi8>
  vm.return %x : !vm.reg
}

// -----

// CHECK: a place is some bytes behind the start of the workspace, and of a known shape
vm.func @dynamic(%x: !vm.reg) {
  %p = vm.place 0 : memref<?xi8>
  vm.return %x : !vm.reg
}

// -----

// CHECK: vm.return
vm.func @returns_inline(%x: !vm.reg) {
  %i = vm.immediate 1
  "vm.return"(%i) : (!vm.inline) -> ()
}
