// Takes samples, and checks for NaN and infinity.
#include "engine/runtime/sampler.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <span>
#include <utility>

#include "engine/base/error.h"
#include "engine/io/half.h"

namespace shardlens {
namespace {

template <typename T>
int64_t count_bad(const void* data, int64_t count) {
  const T* values = static_cast<const T*>(data);
  int64_t bad = 0;
  for (int64_t i = 0; i < count; ++i) bad += std::isfinite(static_cast<double>(values[i])) ? 0 : 1;
  return bad;
}

[[noreturn]] void throw_not_finite(const Tensor& tensor, int64_t bad, int64_t count) {
  throw run_error(fmt::format(
      "tensor {} {} holds {} values of {} that are NaN or infinite; look at the weights and "
      "inputs that feed it{}",
      tensor.name, to_string(tensor.shape), bad, count,
      tensor.dtype == DType::Fp16 ? "; fp16 ends at 65504, and bf16 and fp32 hold much larger numbers" : ""));
}

bool same_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

}  // namespace

Sampler::Sampler(const Program& program, NotFinite not_finite)
    : Sampler(program, plan_samples(program), not_finite) {}

Sampler::Sampler(const Program& program, SamplePlan plan, NotFinite not_finite)
    : ranks_(program.tp()), not_finite_(not_finite), plan_(std::move(plan)) {
  samples_.assign(static_cast<size_t>(ranks_),
                  std::vector<std::shared_ptr<const TensorSample>>(program.tensors.size()));
}

void Sampler::on_tensor(int rank, StepId, const Tensor& tensor, const void* data) {
  if (tensor.kind == MemoryKind::Workspace) return;
  const auto id = static_cast<size_t>(tensor.id);
  SampleDetail detail = plan_.details[id];
  const int64_t exact_elements = std::exchange(detail.exact_elements, 0);
  auto seen = std::make_shared<TensorSample>(make_sample(tensor, ranks_, rank, data, detail));
  const bool keeps = seen->stats.count <= exact_elements;
  const std::span<const std::byte> bytes(
      static_cast<const std::byte*>(data),
      keeps ? static_cast<size_t>(seen->stats.count * element_bytes(tensor.dtype)) : 0);
  // A Replicated tensor has the same bits on every rank: the first rank's are kept, and those of the others
  // are not even copied. So the ranks take turns.
  std::unique_lock<std::mutex> turn;
  if (tensor.layout.kind == LayoutKind::Replicated) turn = std::unique_lock(turns_[id % turns_.size()]);
  std::shared_ptr<const TensorSample> sample = one_like(id, *seen);
  if (!sample || !same_bytes(sample->exact, bytes)) {
    seen->exact.assign(bytes.begin(), bytes.end());
    sample = std::move(seen);
  }
  {
    const std::lock_guard lock(mutex_);
    samples_[static_cast<size_t>(rank)][id] = sample;
  }
  if (sample->stats.nan_count > 0 && not_finite_ == NotFinite::StopsTheRun)
    throw_not_finite(tensor, sample->stats.nan_count, sample->stats.count);
}

/// Returns another rank's sample of the tensor, if it is the same.
std::shared_ptr<const TensorSample> Sampler::one_like(size_t id, const TensorSample& sample) const {
  const std::lock_guard lock(mutex_);
  for (const auto& rank : samples_) {
    if (rank[id] && rank[id]->hash == sample.hash && rank[id]->shape == sample.shape) return rank[id];
  }
  return nullptr;
}

SampleTable Sampler::samples() const {
  const std::lock_guard lock(mutex_);
  return samples_;
}

void FiniteCheck::on_tensor(int rank, StepId, const Tensor& tensor, const void* data) {
  if (!wants(tensor)) return;
  const int64_t count = element_count(local_shape(tensor, ranks_, rank));
  const int64_t bad = tensor.dtype == DType::Fp64   ? count_bad<double>(data, count)
                      : tensor.dtype == DType::Bf16 ? count_bad<Bf16>(data, count)
                      : tensor.dtype == DType::Fp16 ? count_bad<Fp16>(data, count)
                                                    : count_bad<float>(data, count);
  if (bad > 0) throw_not_finite(tensor, bad, count);
}

void FiniteCheck::on_replica_tensor(int, int rank, StepId step, const Tensor& tensor, const void* data) {
  on_tensor(rank, step, tensor, data);
}

}  // namespace shardlens
