// RUN: not aotc-opt %s -p 'convert-to-llvm' 2>&1 | filecheck %s

// CHECK: math.exp {{.*}}[no-form-in-llvm]
func.func @f(%x: vector<4xf32>) -> vector<4xf32> {
  %0 = math.exp %x : vector<4xf32>
  func.return %0 : vector<4xf32>
}
