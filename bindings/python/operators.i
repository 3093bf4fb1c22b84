// SPDX-License-Identifier: Apache-2.0
// Python's operators as methods; what is no operand gives NotImplemented.
%define MT_OPERATOR(name, function)
%feature("kwargs", "0") mt_tensor::__##name##__;
%feature("kwargs", "0") mt_tensor::__r##name##__;
%extend mt_tensor {
  mt_tensor* __##name##__(mt_tensor* other) { return function($self, other); }
  mt_tensor* __r##name##__(mt_tensor* other) { return function(other, $self); }
}
%enddef
MT_OPERATOR(add, mt_add)
MT_OPERATOR(sub, mt_sub)
MT_OPERATOR(mul, mt_mul)
MT_OPERATOR(truediv, mt_div)
MT_OPERATOR(floordiv, mt_floor_divide)
MT_OPERATOR(mod, mt_remainder)
MT_OPERATOR(pow, mt_pow)
MT_OPERATOR(matmul, mt_matmul)
MT_OPERATOR(and, mt_bitwise_and)
MT_OPERATOR(or, mt_bitwise_or)
MT_OPERATOR(xor, mt_bitwise_xor)
MT_OPERATOR(lshift, mt_bitwise_left_shift)
MT_OPERATOR(rshift, mt_bitwise_right_shift)

%define MT_COMPARISON(name, function)
%feature("kwargs", "0") mt_tensor::__##name##__;
%extend mt_tensor {
  mt_tensor* __##name##__(mt_tensor* other) { return function($self, other); }
}
%enddef
MT_COMPARISON(eq, mt_equal)
MT_COMPARISON(ne, mt_not_equal)
MT_COMPARISON(lt, mt_less)
MT_COMPARISON(le, mt_less_equal)
MT_COMPARISON(gt, mt_greater)
MT_COMPARISON(ge, mt_greater_equal)

%feature("kwargs", "0") mt_tensor::__getitem__;
%feature("kwargs", "0") mt_tensor::__setitem__;
%extend mt_tensor {
  mt_tensor* __neg__() { return mt_neg($self); }
  mt_tensor* __abs__() { return mt_abs($self); }
  mt_tensor* __invert__() { return mt_bitwise_invert($self); }
  mt_tensor* __getitem__(const mt_index_item* items, size_t n) { return mt_index($self, items, n); }
  void __setitem__(const mt_index_item* items, size_t n, mt_tensor* value) {
    mt_index_put($self, items, n, value);
  }
}
