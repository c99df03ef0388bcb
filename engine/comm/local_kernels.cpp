// Vectorized sums in rank order, and copies of rows.
#include "engine/comm/local_kernels.h"

#include <cstring>

#include "engine/device/cpu/vector.h"
#include "engine/io/half.h"

namespace shardlens {

namespace {

// A CPU register full of elements, as one value.
constexpr int64_t kRegisterBytes = cpu::kVectorBytes;
template <typename Element>
using Register [[gnu::vector_size(kRegisterBytes), gnu::aligned(alignof(Element)), gnu::may_alias]] = Element;

// Sums `kBlock` consecutive values. The sums stay in registers, whatever the number of ranks.
template <typename Value, int kBlock>
inline void sum_block(std::span<const void* const> from, int64_t from_bytes, std::span<void* const> to,
                      int64_t to_bytes) {
  Value sums[kBlock];
  const auto* const first = reinterpret_cast<const Value*>(static_cast<const char*>(from[0]) + from_bytes);
#pragma GCC unroll 4
  for (int i = 0; i < kBlock; ++i) sums[i] = first[i];
  for (size_t rank = 1; rank < from.size(); ++rank) {
    const auto* const source =
        reinterpret_cast<const Value*>(static_cast<const char*>(from[rank]) + from_bytes);
#pragma GCC unroll 4
    for (int i = 0; i < kBlock; ++i) sums[i] += source[i];
  }
  for (void* const each : to) {
    auto* const target = reinterpret_cast<Value*>(static_cast<char*>(each) + to_bytes);
#pragma GCC unroll 4
    for (int i = 0; i < kBlock; ++i) target[i] = sums[i];
  }
}

// Blocks of four registers come first, to keep several reads from memory under way; then single registers;
// then single elements.
template <typename Element>
void sum_elements(std::span<const void* const> from, int64_t from_bytes, std::span<void* const> to,
                  int64_t to_bytes, int64_t bytes) {
  int64_t done = 0;
  for (; done + 4 * kRegisterBytes <= bytes; done += 4 * kRegisterBytes) {
    sum_block<Register<Element>, 4>(from, from_bytes + done, to, to_bytes + done);
  }
  for (; done + kRegisterBytes <= bytes; done += kRegisterBytes) {
    sum_block<Register<Element>, 1>(from, from_bytes + done, to, to_bytes + done);
  }
  constexpr int64_t kElementBytes = sizeof(Element);
  for (; done < bytes; done += kElementBytes) {
    sum_block<Element, 1>(from, from_bytes + done, to, to_bytes + done);
  }
}

// 16-bit elements are summed in fp32, in rank order, and rounded once.
template <typename Element>
void sum_half(std::span<const void* const> from, int64_t from_offset, std::span<void* const> to,
              int64_t to_offset, int64_t count) {
  const auto at = [&](size_t rank) { return static_cast<const Element*>(from[rank]) + from_offset; };
  cpu::for_vectors<float>(count, [&](int64_t i, auto n) {
    cpu::FloatVector sum = cpu::load_part(at(0) + i, n, 0.0f);
    for (size_t rank = 1; rank < from.size(); ++rank) sum += cpu::load_part(at(rank) + i, n, 0.0f);
    for (void* const each : to) cpu::store_part(static_cast<Element*>(each) + to_offset + i, sum, n);
  });
}

}  // namespace

void sum_in_order(DType dtype, std::span<const void* const> from, int64_t from_offset,
                  std::span<void* const> to, int64_t to_offset, int64_t count) {
  if (dtype == DType::Bf16) return sum_half<Bf16>(from, from_offset, to, to_offset, count);
  if (dtype == DType::Fp16) return sum_half<Fp16>(from, from_offset, to, to_offset, count);
  const int64_t element = element_bytes(dtype);
  if (dtype == DType::Fp64) {
    sum_elements<double>(from, from_offset * element, to, to_offset * element, count * element);
  } else {
    sum_elements<float>(from, from_offset * element, to, to_offset * element, count * element);
  }
}

namespace {

template <typename Element>
void max_elements(std::span<const void* const> from, int64_t from_offset, std::span<void* const> to,
                  int64_t to_offset, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    Element largest = static_cast<const Element*>(from[0])[from_offset + i];
    for (size_t rank = 1; rank < from.size(); ++rank) {
      const Element value = static_cast<const Element*>(from[rank])[from_offset + i];
      largest = value > largest ? value : largest;
    }
    for (void* const each : to) static_cast<Element*>(each)[to_offset + i] = largest;
  }
}

}  // namespace

void max_in_order(DType dtype, std::span<const void* const> from, int64_t from_offset,
                  std::span<void* const> to, int64_t to_offset, int64_t count) {
  if (dtype == DType::Bf16) return max_elements<Bf16>(from, from_offset, to, to_offset, count);
  if (dtype == DType::Fp16) return max_elements<Fp16>(from, from_offset, to, to_offset, count);
  if (dtype == DType::Fp64) {
    max_elements<double>(from, from_offset, to, to_offset, count);
  } else {
    max_elements<float>(from, from_offset, to, to_offset, count);
  }
}

void copy_rows(int64_t rows, int64_t row_bytes, const void* from, int64_t from_stride, void* to,
               int64_t to_stride) {
  if (rows == 0 || row_bytes == 0) return;  // an empty shard may have no address
  if (row_bytes == from_stride && row_bytes == to_stride) {
    std::memcpy(to, from, static_cast<size_t>(rows * row_bytes));
    return;
  }
  const auto* source = static_cast<const char*>(from);
  auto* target = static_cast<char*>(to);
  for (int64_t row = 0; row < rows; ++row) {
    std::memcpy(target + row * to_stride, source + row * from_stride, static_cast<size_t>(row_bytes));
  }
}

}  // namespace shardlens
