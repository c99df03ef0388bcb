// Adds the output of a block to a row of the residual stream. A bias or a LayerNorm that is fused with this
// sum calls it.
#pragma once

#include <cstdint>

#include "engine/device/cpu/vector.h"

namespace shardlens::cpu {

/// sum = x + (a + bias) over `cols` elements. a + bias is rounded to S. bias may be null.
template <class S, class T = Computed<S>>
void add_to_residual(int64_t cols, const S* x, const S* a, const S* bias, S* sum) {
  for_vectors<T>(cols, [&](int64_t i, auto n) {
    Vector<T> term = load_ahead(a + i, n, T(0));
    if (bias != nullptr) term = as_stored<S>(term + load_part(bias + i, n, T(0)));
    store_part(sum + i, load_ahead(x + i, n, T(0)) + term, n);
  });
}

}  // namespace shardlens::cpu
