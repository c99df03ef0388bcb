// Puts slices together into full tensors.
#include "engine/runtime/gather.h"

#include <algorithm>
#include <cstring>

#include "engine/io/half.h"

namespace shardlens {
namespace {

// Sums in rank order, like the communicator, so the bits do not depend on which rank came first.
template <typename T>
void sum_terms(const std::vector<std::vector<std::byte>>& terms, std::vector<std::byte>& total) {
  const size_t count = total.size() / sizeof(T);
  for (size_t i = 0; i < count; ++i) {
    T sum{};
    for (size_t rank = 0; rank < terms.size(); ++rank) {
      T value;
      std::memcpy(&value, terms[rank].data() + i * sizeof(T), sizeof(T));
      sum = rank == 0 ? value : sum + value;
    }
    std::memcpy(total.data() + i * sizeof(T), &sum, sizeof(T));
  }
}

// 16-bit terms are summed in fp32 and rounded once.
void sum_terms_of(DType dtype, const std::vector<std::vector<std::byte>>& terms,
                  std::vector<std::byte>& total) {
  if (dtype == DType::Fp64) return sum_terms<double>(terms, total);
  if (!is_half(dtype)) return sum_terms<float>(terms, total);
  const auto count = static_cast<int64_t>(total.size() / sizeof(uint16_t));
  std::vector<float> sums(static_cast<size_t>(count), 0.0f);
  for (const std::vector<std::byte>& term : terms) {
    const std::vector<float> values = widened(dtype, term.data(), count);
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += values[i];
  }
  narrow(dtype, sums.data(), count, total.data());
}

}  // namespace

void Gather::on_tensor(int rank, StepId step, const Tensor& tensor, const void* data) {
  on_replica_tensor(0, rank, step, tensor, data);
}

void Gather::on_replica_tensor(int replica, int rank, StepId, const Tensor& tensor, const void* data) {
  if (!wanted_(tensor)) return;
  const bool sharded = tensor.layout.kind == LayoutKind::Sharded;
  // Partial terms of slices are left out: their sum is a tensor of its own.
  if (tensor.layout.kind == LayoutKind::Partial && tensor.layout.dim >= 0) return;
  if (tensor.layout.kind == LayoutKind::Replicated && rank != 0) return;
  const std::lock_guard lock(mutex_);
  Replica& own = replicas_[replica];
  GatheredTensor& whole = own.whole[tensor.name];
  if (whole.bytes.empty()) {
    whole.shape = tensor.shape;
    whole.dtype = tensor.dtype;
    whole.bytes.assign(static_cast<size_t>(tensor.bytes()), std::byte{0});
  }
  if (tensor.layout.kind == LayoutKind::Partial) {
    std::vector<std::vector<std::byte>>& terms = own.terms[tensor.name];
    terms.resize(static_cast<size_t>(ranks_));
    const auto* begin = static_cast<const std::byte*>(data);
    terms[static_cast<size_t>(rank)].assign(begin, begin + tensor.bytes());
    const bool all = std::none_of(terms.begin(), terms.end(), [](const auto& term) { return term.empty(); });
    if (!all) return;
    sum_terms_of(tensor.dtype, terms, whole.bytes);
    own.terms.erase(tensor.name);
    return;
  }
  if (!sharded) {
    std::memcpy(whole.bytes.data(), data, whole.bytes.size());
    return;
  }
  const int64_t element = element_bytes(tensor.dtype);
  const int64_t full_cols = matrix_shape(tensor).cols;
  const int64_t own_cols = local_matrix_shape(tensor, ranks_, rank).cols;
  const auto* local = static_cast<const std::byte*>(data);
  if (own_cols == 0) return;
  for (const Placement& place : placements(tensor, ranks_, rank)) {
    for (int64_t i = 0; i < place.rows.size(); ++i) {
      const int64_t to = (place.rows.begin + i) * full_cols + place.cols.begin;
      const int64_t from = (place.local_rows.begin + i) * own_cols + place.local_cols.begin;
      std::memcpy(whole.bytes.data() + to * element, local + from * element,
                  static_cast<size_t>(place.cols.size() * element));
    }
  }
}

}  // namespace shardlens
