// RUN: aotc-opt %s -p 'convert-entry-to-vm' --split-input-file | filecheck %s

// A straight entry after plan-memory: places, weights, its arguments looked at, views, calls.
// CHECK-LABEL: vm.func @main(%x: !vm.reg, %y: !vm.reg) {
// CHECK-NEXT:    [[W:%.*]] = vm.constant dense_resource<w> : tensor<8xf32>
// CHECK-NEXT:    [[U:%.*]] = vm.place 48 : memref<1x4xf32>
// CHECK-NEXT:    [[T:%.*]] = vm.place 32 : memref<8xf32>
// CHECK-NEXT:    [[XK:%.*]] = vm.constant f32
// CHECK-NEXT:    [[X0:%.*]] = vm.immediate 2
// CHECK-NEXT:    [[X1:%.*]] = vm.immediate 4
// CHECK-NEXT:    vm.call "vm.builtin.match_tensor"(%x, [[XK]], [[X0]], [[X1]])
// CHECK-NEXT:    [[YK:%.*]] = vm.constant f32
// CHECK-NEXT:    [[Y0:%.*]] = vm.immediate 8
// CHECK-NEXT:    vm.call "vm.builtin.match_tensor"(%y, [[YK]], [[Y0]])
// CHECK-NEXT:    {{%.*}} = vm.immediate 32
// CHECK-NEXT:    [[O:%.*]] = vm.immediate 0
// CHECK-NEXT:    [[K:%.*]] = vm.constant f32
// CHECK-NEXT:    [[F:%.*]] = vm.immediate 8
// CHECK-NEXT:    [[V:%.*]] = vm.call "vm.builtin.view"(%x, [[O]], [[K]], [[F]]) : (!vm.reg, !vm.inline, !vm.inline, !vm.inline) -> !vm.reg
// CHECK-NEXT:    vm.call "mul_0"([[V]], [[W]], [[U]]) : (!vm.reg, !vm.inline, !vm.inline) -> ()
// CHECK-NEXT:    vm.call "relu_0"([[T]], %y) : (!vm.inline, !vm.reg) -> ()
// CHECK-NEXT:    vm.return %y : !vm.reg
// CHECK-NEXT:  }
func.func @main(%x: memref<2x4xf32> {aot.io = "input", aot.dtype = "float32"},
                %y: memref<8xf32> {aot.io = "output", aot.dtype = "float32"}) attributes {aot.entry} {
  %ws = aot.workspace : memref<64xi8>
  %c = arith.constant 32 : index
  %t = memref.view %ws[%c][] : memref<64xi8> to memref<8xf32>
  %w = aot.weight "w" : memref<8xf32>
  %v = memref.reinterpret_cast %x to offset: [0], sizes: [8], strides: [1] : memref<2x4xf32> to memref<8xf32>
  %u = memref.reinterpret_cast %t to offset: [4], sizes: [1, 4], strides: [9, 1] : memref<8xf32> to memref<1x4xf32>
  func.call @mul_0(%v, %w, %u) : (memref<8xf32>, memref<8xf32>, memref<1x4xf32>) -> ()
  func.call @relu_0(%t, %y) : (memref<8xf32>, memref<8xf32>) -> ()
  func.return
}
func.func private @mul_0(memref<8xf32>, memref<8xf32>, memref<1x4xf32>)
func.func private @relu_0(memref<8xf32>, memref<8xf32>)

// -----

// What kernels say of their arguments decides: memory has no signs.
// CHECK-LABEL: vm.func @unsigned(%x: !vm.reg, %y: !vm.reg) {
// CHECK-NEXT:    [[U:%.*]] = vm.place 0 : memref<4xui8>
// CHECK-NEXT:    [[T:%.*]] = vm.place 0 : memref<4xi8>
// CHECK-NEXT:    [[X:%.*]] = vm.constant ui8
// CHECK:         vm.call "vm.builtin.match_tensor"(%x, [[X]], {{%.*}})
// CHECK:         vm.call "vm.builtin.match_tensor"(%y
// CHECK:         [[K:%.*]] = vm.constant i8
// CHECK:         [[V:%.*]] = vm.call "vm.builtin.view"(%x, {{%.*}}, [[K]], {{%.*}})
// CHECK-NEXT:    vm.call "f"([[V]], [[U]])
// CHECK-NEXT:    vm.call "g"(%x, [[T]], %y)
func.func @unsigned(%x: memref<4xi8> {aot.io = "input", aot.dtype = "uint8"},
                    %y: memref<4xi8> {aot.io = "output", aot.dtype = "int8"}) attributes {aot.entry} {
  %ws = aot.workspace : memref<4xi8>
  %c = arith.constant 0 : index
  %t = memref.view %ws[%c][] : memref<4xi8> to memref<4xi8>
  func.call @f(%x, %t) : (memref<4xi8>, memref<4xi8>) -> ()
  func.call @g(%x, %t, %y) : (memref<4xi8>, memref<4xi8>, memref<4xi8>) -> ()
  func.return
}
func.func private @f(%a: memref<4xi8>, %b: memref<4xi8> {aot.dtype = "uint8"}) {
  func.return
}
func.func private @g(%a: memref<4xi8> {aot.dtype = "uint8"}, %b: memref<4xi8>, %c: memref<4xi8>) {
  func.return
}

// -----

// Buffers of sizes that are known when it runs.
// CHECK-LABEL: vm.func @allocates
// CHECK:         [[N:%.*]] = vm.call "vm.builtin.extent"(%x, {{%.*}})
// CHECK-NEXT:    [[THREE:%.*]] = vm.immediate 3
// CHECK-NEXT:    [[ROW:%.*]] = vm.immediate 12
// CHECK-NEXT:    [[SIZE:%.*]] = vm.call "vm.builtin.mul"([[ROW]], [[N]])
// CHECK-NEXT:    [[STATE:%.*]] = vm.state
// CHECK-NEXT:    [[STORAGE:%.*]] = vm.call "vm.builtin.alloc_storage"([[STATE]], [[SIZE]])
// CHECK-NEXT:    [[SHAPE:%.*]] = vm.call "vm.builtin.make_shape"([[N]], [[THREE]])
// CHECK-NEXT:    [[ZERO:%.*]] = vm.immediate 0
// CHECK-NEXT:    [[KIND:%.*]] = vm.constant f32
// CHECK-NEXT:    [[T:%.*]] = vm.call "vm.builtin.alloc_tensor"([[STORAGE]], [[ZERO]], [[SHAPE]], [[KIND]])
// CHECK-NEXT:    vm.call "g"(%x, [[T]])
func.func @allocates(%x: memref<?x3xf32>) attributes {aot.entry} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x3xf32>
  %t = memref.alloc(%n) : memref<?x3xf32>
  func.call @g(%x, %t) : (memref<?x3xf32>, memref<?x3xf32>) -> ()
  func.return
}
func.func private @g(memref<?x3xf32>, memref<?x3xf32>)

// -----

// CHECK-LABEL: vm.func @branches(%p: !vm.reg, %y: !vm.reg) {
// CHECK:         [[C:%.*]] = vm.call "vm.builtin.read"(%p) : (!vm.reg) -> !vm.reg
// CHECK-NEXT:    vm.if [[C]] : !vm.reg, ^[[THEN:.*]], ^[[ELSE:.*]]
// CHECK-NEXT:  ^[[THEN]]:
// CHECK-NEXT:    vm.call "f"(%y) : (!vm.reg) -> ()
// CHECK-NEXT:    vm.goto ^[[END:.*]]
// CHECK-NEXT:  ^[[ELSE]]:
// CHECK-NEXT:    vm.goto ^[[END]]
// CHECK-NEXT:  ^[[END]]:
// CHECK-NEXT:    vm.return %y : !vm.reg
func.func @branches(%p: memref<i1>, %y: memref<4xf32> {aot.io = "output"}) attributes {aot.entry} {
  %c = memref.load %p[] : memref<i1>
  scf.if %c {
    func.call @f(%y) : (memref<4xf32>) -> ()
  }
  func.return
}
func.func private @f(memref<4xf32>)

// -----

// CHECK-LABEL: vm.func @counts(%y: !vm.reg) {
// CHECK:         [[ZERO:%.*]] = vm.immediate 0
// CHECK:         [[I0:%.*]] = vm.call "vm.builtin.move"([[ZERO]]) : (!vm.inline) -> !vm.reg
// CHECK-NEXT:    [[S0:%.*]] = vm.call "vm.builtin.move"([[ZERO]]) : (!vm.inline) -> !vm.reg
// CHECK-NEXT:    vm.goto ^[[HEAD:.*]]([[I0]], [[S0]] : !vm.reg, !vm.reg)
// CHECK-NEXT:  ^[[HEAD]]([[I:%.*]]: !vm.reg, [[S:%.*]]: !vm.reg):
// CHECK-NEXT:    [[MORE:%.*]] = vm.call "vm.builtin.less"([[I]], {{%.*}})
// CHECK-NEXT:    vm.if [[MORE]] : !vm.reg, ^[[BODY:.*]], ^[[END:.*]]
// CHECK-NEXT:  ^[[BODY]]:
// CHECK-NEXT:    [[T:%.*]] = vm.call "vm.builtin.add"([[S]], [[I]])
// CHECK-NEXT:    [[NEXT:%.*]] = vm.call "vm.builtin.add"([[I]], {{%.*}})
// CHECK-NEXT:    vm.goto ^[[HEAD]]([[NEXT]], [[T]] : !vm.reg, !vm.reg)
// CHECK-NEXT:  ^[[END]]:
// CHECK-NEXT:    [[LE:%.*]] = vm.call "vm.builtin.less"({{%.*}}, [[S]])
// CHECK-NEXT:    [[ANOTHER:%.*]] = vm.immediate 0
// CHECK-NEXT:    [[NOT:%.*]] = vm.call "vm.builtin.equal"([[LE]], [[ANOTHER]])
// CHECK-NEXT:    vm.if [[NOT]]
func.func @counts(%y: memref<4xf32> {aot.io = "output"}) attributes {aot.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %s = scf.for %i = %c0 to %c5 step %c1 iter_args(%a = %c0) -> (index) {
    %t = arith.addi %a, %i : index
    scf.yield %t : index
  }
  %c = arith.cmpi sle, %s, %c5 : index
  scf.if %c {
    func.call @f(%y) : (memref<4xf32>) -> ()
  }
  func.return
}
func.func private @f(memref<4xf32>)

// -----

// CHECK-LABEL: vm.func @waits(%p: !vm.reg, %y: !vm.reg) {
// CHECK:         vm.goto ^[[HEAD:.*]]({{%.*}} : !vm.reg)
// CHECK-NEXT:  ^[[HEAD]]([[N:%.*]]: !vm.reg):
// CHECK-NEXT:    [[C:%.*]] = vm.call "vm.builtin.read"(%p)
// CHECK-NEXT:    vm.if [[C]] : !vm.reg, ^[[BODY:.*]], ^[[END:.*]]
// CHECK-NEXT:  ^[[BODY]]:
// CHECK-NEXT:    vm.call "f"(%p)
// CHECK-NEXT:    [[M:%.*]] = vm.call "vm.builtin.add"([[N]], {{%.*}})
// CHECK-NEXT:    vm.goto ^[[HEAD]]([[M]] : !vm.reg)
// CHECK-NEXT:  ^[[END]]:
// CHECK-NEXT:    vm.return %y
func.func @waits(%p: memref<1xi1>, %y: memref<4xf32> {aot.io = "output"}) attributes {aot.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = scf.while (%a = %c0) : (index) -> index {
    %c = memref.load %p[%c0] : memref<1xi1>
    scf.condition(%c) %a : index
  } do {
  ^bb0(%b: index):
    func.call @f(%p) : (memref<1xi1>) -> ()
    %t = arith.addi %b, %c1 : index
    scf.yield %t : index
  }
  func.return
}
func.func private @f(memref<1xi1>)

// -----

// A part of a buffer that is chosen when it runs, and integers to and from memory.
// CHECK-LABEL: vm.func @rows(%x: !vm.reg, %n: !vm.reg, %y: !vm.reg) {
// CHECK:         [[N:%.*]] = vm.call "vm.builtin.read"(%n)
// CHECK:         [[M:%.*]] = vm.call "vm.builtin.max"([[N]], {{%.*}})
// CHECK-NEXT:    [[W:%.*]] = vm.immediate 4
// CHECK-NEXT:    [[O:%.*]] = vm.call "vm.builtin.mul"([[M]], [[W]])
// CHECK-NEXT:    [[K:%.*]] = vm.constant f32
// CHECK-NEXT:    [[F:%.*]] = vm.immediate 5
// CHECK-NEXT:    [[V:%.*]] = vm.call "vm.builtin.view"(%x, [[O]], [[K]], [[F]])
// CHECK-NEXT:    vm.call "f"([[V]], %y)
// CHECK-NEXT:    vm.call "vm.builtin.write"(%n, [[M]]) : (!vm.reg, !vm.reg) -> ()
func.func @rows(%x: memref<4x5xf32>, %n: memref<i64>, %y: memref<5xf32> {aot.io = "output"}) attributes {aot.entry} {
  %c0 = arith.constant 0 : i64
  %0 = memref.load %n[] : memref<i64>
  %1 = arith.maxsi %0, %c0 : i64
  %2 = arith.index_cast %1 : i64 to index
  %r = memref.reinterpret_cast %x to offset: [%2], sizes: [5], strides: [1] : memref<4x5xf32> to memref<5xf32>
  func.call @f(%r, %y) : (memref<5xf32>, memref<5xf32>) -> ()
  memref.store %1, %n[] : memref<i64>
  func.return
}
func.func private @f(memref<5xf32>, memref<5xf32>)

// -----

// What is made in every iteration takes memory once: a view has room of its own, unless the next iteration gets it, too;
// what is in the workspace is moved to a register at the head.
// CHECK-LABEL: vm.func @views(%x: !vm.reg, %y: !vm.reg) {
// CHECK:         [[P:%.*]] = vm.place 0 : memref<5xf32>
// CHECK:         [[KEPT:%.*]] = vm.call "vm.builtin.move"([[P]]) : (!vm.inline) -> !vm.reg
// CHECK-NEXT:    [[RANK:%.*]] = vm.immediate 1
// CHECK-NEXT:    [[ROOM:%.*]] = vm.call "vm.builtin.alloc_view"([[RANK]]) : (!vm.inline) -> !vm.reg
// CHECK:         vm.goto ^[[HEAD:.*]]({{%.*}}, [[KEPT]] : !vm.reg, !vm.reg)
// CHECK-NEXT:  ^[[HEAD]]([[I:%.*]]: !vm.reg, [[A:%.*]]: !vm.reg):
// CHECK:         [[V:%.*]] = vm.call "vm.builtin.view_in"([[ROOM]], %x, {{.*}})
// CHECK-NEXT:    vm.call "f"([[V]], %y)
// CHECK:         [[W:%.*]] = vm.call "vm.builtin.view"(%x, {{.*}})
// CHECK:         vm.goto ^[[HEAD]]({{%.*}}, [[W]] : !vm.reg, !vm.reg)
func.func @views(%x: memref<4x5xf32>, %y: memref<5xf32> {aot.io = "output"}) attributes {aot.entry} {
  %ws = aot.workspace : memref<32xi8>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %t = memref.view %ws[%c0][] : memref<32xi8> to memref<5xf32>
  %s = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %t) -> (memref<5xf32>) {
    %v = memref.reinterpret_cast %x to offset: [%i], sizes: [5], strides: [1] : memref<4x5xf32> to memref<5xf32>
    func.call @f(%v, %y) : (memref<5xf32>, memref<5xf32>) -> ()
    %w = memref.reinterpret_cast %x to offset: [%i], sizes: [5], strides: [1] : memref<4x5xf32> to memref<5xf32>
    scf.yield %w : memref<5xf32>
  }
  func.call @f(%s, %y) : (memref<5xf32>, memref<5xf32>) -> ()
  func.return
}
func.func private @f(memref<5xf32>, memref<5xf32>)
