// Shared by the files that call oneDNN's primitives.
#pragma once

#include <array>
#include <cstddef>
#include <dnnl.hpp>
#include <vector>

namespace shardlens::cpu::onednn {

inline const dnnl::engine& the_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

/// A matrix with this description. Each call sets its address.
inline dnnl::memory at_no_place(const dnnl::memory::desc& desc) {
  return {desc, the_engine(), DNNL_MEMORY_NONE};
}

/// A matrix whose rows are `stride` elements apart, or its columns if it is stored transposed.
inline dnnl::memory::desc matrix(int64_t rows, int64_t cols, dnnl::memory::data_type type, bool transposed,
                                 int64_t stride) {
  using Dims = dnnl::memory::dims;
  return {{rows, cols}, type, transposed ? Dims{1, stride} : Dims{stride, 1}};
}

/// Attributes of a primitive that uses the caller's scratch. With `accumulate` it adds to its result.
inline dnnl::primitive_attr attributes(bool accumulate) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (accumulate) {
    dnnl::post_ops sum;
    sum.append_sum(1.0f);
    attributes.set_post_ops(sum);
  }
  return attributes;
}

/// Memory that grows when needed. Its contents are undefined until they are written.
class Scratch {
 public:
  template <class T>
  T* room_for(int64_t elements) {
    const size_t lines = (static_cast<size_t>(elements) * sizeof(T) + sizeof(Line) - 1) / sizeof(Line);
    if (lines > lines_.size()) lines_ = std::vector<Line>(lines);
    return reinterpret_cast<T*>(lines_.data());
  }

 private:
  struct alignas(64) Line {
    std::array<std::byte, 64> bytes;
  };
  std::vector<Line> lines_;
};

}  // namespace shardlens::cpu::onednn
