// RUN: aotc-opt %s -p 'convert-entry-to-vm{keep=true},allocate-registers' | filecheck %s

// The entry stays as it is, and bytecode is beside it.
// CHECK:      func.func @entry(%x: memref<8xf32> {aot.io = "input"}, %y: memref<8xf32> {aot.io = "output"}) attributes {aot.entry} {
// CHECK-NEXT:   func.call @relu_0(%x, %y)
// CHECK:      vm.func @main(%x: !vm.reg<0>, %y: !vm.reg<1>) {
// CHECK:        vm.call "relu_0"(%x, %y) : (!vm.reg<0>, !vm.reg<1>) -> ()
// CHECK-NEXT:   vm.return %y : !vm.reg<1>
func.func @entry(%x: memref<8xf32> {aot.io = "input"}, %y: memref<8xf32> {aot.io = "output"}) attributes {aot.entry} {
  func.call @relu_0(%x, %y) : (memref<8xf32>, memref<8xf32>) -> ()
  func.return
}
func.func private @relu_0(memref<8xf32>, memref<8xf32>)
