// RUN: aotc-opt %s -p 'leave-entry' | filecheck %s

// The entry and what is called of it are declared, with what is known of their arguments; operators and others stay.
// CHECK:      func.func private @aotc_m_run(!aot.ptr<f32>, !aot.ptr<f32>) -> i32
// CHECK-SAME:   attributes {aot.entry, aot.arguments = [{aot.io = "input", {{.*}}}, {aot.io = "output", {{.*}}}]}
// CHECK-NEXT: func.func @aotc_m_run_packed(!aot.ptr<i8>) -> i32
// CHECK-NEXT: func.func @aotc_m_relu_0(%x: !aot.ptr<f32>) -> i32 {
// CHECK:      func.func @aotc_m_get_model_metadata(%x: !aot.ptr<i8>) -> i32 {
builtin.module attributes {aot.name = "m"} {
  func.func private @aotc_m_run(%x: !aot.ptr<f32> {aot.io = "input", aot.shape = array<i64: 4>},
                                %y: !aot.ptr<f32> {aot.io = "output", aot.shape = array<i64: 4>}) -> i32
      attributes {aot.entry} {
    %0 = func.call @aotc_m_relu_0(%x) : (!aot.ptr<f32>) -> i32
    func.return %0 : i32
  }
  func.func @aotc_m_run_packed(%args: !aot.ptr<i8>) -> i32 {
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
  func.func @aotc_m_relu_0(%x: !aot.ptr<f32>) -> i32 {
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
  func.func @aotc_m_get_model_metadata(%x: !aot.ptr<i8>) -> i32 {
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
}
