// RUN: aotc-opt %s -p 'select-calling-convention{interface-api=packed operator-api=cpacked},buffers-to-pointers,lower-calls' | filecheck %s

// Everything that a packed operator relies on is checked: how many arguments, their type codes, and of each tensor all
// fields but the address of an empty one.

builtin.module attributes {aot.name = "m"} {
  func.func @main(%x: memref<2x4xf32> {aot.io = "input"}, %e: memref<0xf32> {aot.io = "input"}) attributes {aot.entry} {
    func.call @sign_0(%x, %e) : (memref<2x4xf32>, memref<0xf32>) -> ()
    func.return
  }
  func.func private @sign_0(%a: memref<2x4xf32>, %e: memref<0xf32>) attributes {aot.kernel} {
    func.return
  }
}

// CHECK-LABEL: func.func private @sign_0
// CHECK-NEXT: %[[V0:.*]] = arith.constant 2 : i32
// CHECK-NEXT: %[[V1:.*]] = arith.cmpi eq, %num_args, %[[V0]] : i32
// CHECK-NEXT: aot.require %[[V1]]
// CHECK-NEXT: %[[V2:.*]] = aot.is_null %args
// CHECK-NEXT: %[[V3:.*]] = arith.constant true
// CHECK-NEXT: %[[V4:.*]] = arith.xori %[[V2]], %[[V3]] : i1
// CHECK-NEXT: aot.require %[[V4]]
// CHECK-NEXT: %[[V5:.*]] = aot.is_null %arg_type_ids
// CHECK-NEXT: %[[V6:.*]] = arith.constant true
// CHECK-NEXT: %[[V7:.*]] = arith.xori %[[V5]], %[[V6]] : i1
// CHECK-NEXT: aot.require %[[V7]]
// CHECK-NEXT: %[[V8:.*]] = aot.ptr_cast %args
// CHECK-NEXT: %[[V9:.*]] = aot.ptr_cast %arg_type_ids
// CHECK-NEXT: %[[V10:.*]] = aot.element %[[V9]][0]
// CHECK-NEXT: %[[V11:.*]] = arith.constant 7 : i32
// CHECK-NEXT: %[[V12:.*]] = arith.cmpi eq, %[[V10]], %[[V11]] : i32
// CHECK-NEXT: aot.require %[[V12]]
// CHECK-NEXT: %[[V13:.*]] = aot.field %[[V8]][0] "v_handle"
// CHECK-NEXT: %[[V14:.*]] = aot.is_null %[[V13]]
// CHECK-NEXT: %[[V15:.*]] = arith.constant true
// CHECK-NEXT: %[[V16:.*]] = arith.xori %[[V14]], %[[V15]] : i1
// CHECK-NEXT: aot.require %[[V16]]
// CHECK-NEXT: %[[V17:.*]] = aot.ptr_cast %[[V13]]
// CHECK-NEXT: %[[V18:.*]] = aot.field %[[V17]][0] "ndim"
// CHECK-NEXT: %[[V19:.*]] = arith.constant 2 : i32
// CHECK-NEXT: %[[V20:.*]] = arith.cmpi eq, %[[V18]], %[[V19]] : i32
// CHECK-NEXT: aot.require %[[V20]]
// CHECK-NEXT: %[[V21:.*]] = aot.field %[[V17]][0] "dtype.code"
// CHECK-NEXT: %[[V22:.*]] = arith.constant 2 : i8
// CHECK-NEXT: %[[V23:.*]] = arith.cmpi eq, %[[V21]], %[[V22]] : i8
// CHECK-NEXT: aot.require %[[V23]]
// CHECK-NEXT: %[[V24:.*]] = aot.field %[[V17]][0] "dtype.bits"
// CHECK-NEXT: %[[V25:.*]] = arith.constant 32 : i8
// CHECK-NEXT: %[[V26:.*]] = arith.cmpi eq, %[[V24]], %[[V25]] : i8
// CHECK-NEXT: aot.require %[[V26]]
// CHECK-NEXT: %[[V27:.*]] = aot.field %[[V17]][0] "dtype.lanes"
// CHECK-NEXT: %[[V28:.*]] = arith.constant 1 : i16
// CHECK-NEXT: %[[V29:.*]] = arith.cmpi eq, %[[V27]], %[[V28]] : i16
// CHECK-NEXT: aot.require %[[V29]]
// CHECK-NEXT: %[[V30:.*]] = aot.field %[[V17]][0] "device.device_type"
// CHECK-NEXT: %[[V31:.*]] = arith.constant 1 : i32
// CHECK-NEXT: %[[V32:.*]] = arith.cmpi eq, %[[V30]], %[[V31]] : i32
// CHECK-NEXT: aot.require %[[V32]]
// CHECK-NEXT: %[[V33:.*]] = aot.field %[[V17]][0] "device.device_id"
// CHECK-NEXT: %[[V34:.*]] = arith.constant 0 : i32
// CHECK-NEXT: %[[V35:.*]] = arith.cmpi eq, %[[V33]], %[[V34]] : i32
// CHECK-NEXT: aot.require %[[V35]]
// CHECK-NEXT: %[[V36:.*]] = aot.field %[[V17]][0] "strides"
// CHECK-NEXT: %[[V37:.*]] = aot.is_null %[[V36]]
// CHECK-NEXT: aot.require %[[V37]]
// CHECK-NEXT: %[[V38:.*]] = aot.field %[[V17]][0] "byte_offset"
// CHECK-NEXT: %[[V39:.*]] = arith.constant 0 : i64
// CHECK-NEXT: %[[V40:.*]] = arith.cmpi eq, %[[V38]], %[[V39]] : i64
// CHECK-NEXT: aot.require %[[V40]]
// CHECK-NEXT: %[[V41:.*]] = aot.field %[[V17]][0] "shape"
// CHECK-NEXT: %[[V42:.*]] = aot.is_null %[[V41]]
// CHECK-NEXT: %[[V43:.*]] = arith.constant true
// CHECK-NEXT: %[[V44:.*]] = arith.xori %[[V42]], %[[V43]] : i1
// CHECK-NEXT: aot.require %[[V44]]
// CHECK-NEXT: %[[V45:.*]] = aot.element %[[V41]][0]
// CHECK-NEXT: %[[V46:.*]] = arith.constant 2 : i64
// CHECK-NEXT: %[[V47:.*]] = arith.cmpi eq, %[[V45]], %[[V46]] : i64
// CHECK-NEXT: aot.require %[[V47]]
// CHECK-NEXT: %[[V48:.*]] = aot.element %[[V41]][1]
// CHECK-NEXT: %[[V49:.*]] = arith.constant 4 : i64
// CHECK-NEXT: %[[V50:.*]] = arith.cmpi eq, %[[V48]], %[[V49]] : i64
// CHECK-NEXT: aot.require %[[V50]]
// CHECK-NEXT: %[[V51:.*]] = aot.field %[[V17]][0] "data"
// CHECK-NEXT: %[[V52:.*]] = aot.is_null %[[V51]]
// CHECK-NEXT: %[[V53:.*]] = arith.constant true
// CHECK-NEXT: %[[V54:.*]] = arith.xori %[[V52]], %[[V53]] : i1
// CHECK-NEXT: aot.require %[[V54]]
// CHECK-NEXT: %a = aot.ptr_cast %[[V51]]
// CHECK-NEXT: %[[V55:.*]] = aot.element %[[V9]][1]
// CHECK-NEXT: %[[V56:.*]] = arith.constant 7 : i32
// CHECK-NEXT: %[[V57:.*]] = arith.cmpi eq, %[[V55]], %[[V56]] : i32
// CHECK-NEXT: aot.require %[[V57]]
// CHECK-NEXT: %[[V58:.*]] = aot.field %[[V8]][1] "v_handle"
// CHECK-NEXT: %[[V59:.*]] = aot.is_null %[[V58]]
// CHECK-NEXT: %[[V60:.*]] = arith.constant true
// CHECK-NEXT: %[[V61:.*]] = arith.xori %[[V59]], %[[V60]] : i1
// CHECK-NEXT: aot.require %[[V61]]
// CHECK-NEXT: %[[V62:.*]] = aot.ptr_cast %[[V58]]
// CHECK-NEXT: %[[V63:.*]] = aot.field %[[V62]][0] "ndim"
// CHECK-NEXT: %[[V64:.*]] = arith.constant 1 : i32
// CHECK-NEXT: %[[V65:.*]] = arith.cmpi eq, %[[V63]], %[[V64]] : i32
// CHECK-NEXT: aot.require %[[V65]]
// CHECK-NEXT: %[[V66:.*]] = aot.field %[[V62]][0] "dtype.code"
// CHECK-NEXT: %[[V67:.*]] = arith.constant 2 : i8
// CHECK-NEXT: %[[V68:.*]] = arith.cmpi eq, %[[V66]], %[[V67]] : i8
// CHECK-NEXT: aot.require %[[V68]]
// CHECK-NEXT: %[[V69:.*]] = aot.field %[[V62]][0] "dtype.bits"
// CHECK-NEXT: %[[V70:.*]] = arith.constant 32 : i8
// CHECK-NEXT: %[[V71:.*]] = arith.cmpi eq, %[[V69]], %[[V70]] : i8
// CHECK-NEXT: aot.require %[[V71]]
// CHECK-NEXT: %[[V72:.*]] = aot.field %[[V62]][0] "dtype.lanes"
// CHECK-NEXT: %[[V73:.*]] = arith.constant 1 : i16
// CHECK-NEXT: %[[V74:.*]] = arith.cmpi eq, %[[V72]], %[[V73]] : i16
// CHECK-NEXT: aot.require %[[V74]]
// CHECK-NEXT: %[[V75:.*]] = aot.field %[[V62]][0] "device.device_type"
// CHECK-NEXT: %[[V76:.*]] = arith.constant 1 : i32
// CHECK-NEXT: %[[V77:.*]] = arith.cmpi eq, %[[V75]], %[[V76]] : i32
// CHECK-NEXT: aot.require %[[V77]]
// CHECK-NEXT: %[[V78:.*]] = aot.field %[[V62]][0] "device.device_id"
// CHECK-NEXT: %[[V79:.*]] = arith.constant 0 : i32
// CHECK-NEXT: %[[V80:.*]] = arith.cmpi eq, %[[V78]], %[[V79]] : i32
// CHECK-NEXT: aot.require %[[V80]]
// CHECK-NEXT: %[[V81:.*]] = aot.field %[[V62]][0] "strides"
// CHECK-NEXT: %[[V82:.*]] = aot.is_null %[[V81]]
// CHECK-NEXT: aot.require %[[V82]]
// CHECK-NEXT: %[[V83:.*]] = aot.field %[[V62]][0] "byte_offset"
// CHECK-NEXT: %[[V84:.*]] = arith.constant 0 : i64
// CHECK-NEXT: %[[V85:.*]] = arith.cmpi eq, %[[V83]], %[[V84]] : i64
// CHECK-NEXT: aot.require %[[V85]]
// CHECK-NEXT: %[[V86:.*]] = aot.field %[[V62]][0] "shape"
// CHECK-NEXT: %[[V87:.*]] = aot.is_null %[[V86]]
// CHECK-NEXT: %[[V88:.*]] = arith.constant true
// CHECK-NEXT: %[[V89:.*]] = arith.xori %[[V87]], %[[V88]] : i1
// CHECK-NEXT: aot.require %[[V89]]
// CHECK-NEXT: %[[V90:.*]] = aot.element %[[V86]][0]
// CHECK-NEXT: %[[V91:.*]] = arith.constant 0 : i64
// CHECK-NEXT: %[[V92:.*]] = arith.cmpi eq, %[[V90]], %[[V91]] : i64
// CHECK-NEXT: aot.require %[[V92]]
// CHECK-NEXT: %[[V93:.*]] = aot.field %[[V62]][0] "data"
// CHECK-NEXT: %e = aot.ptr_cast %[[V93]]
