// Sampling and the guard against values that are not numbers.
#include "engine/runtime/sampler.h"

#include <fmt/format.h>

#include <cmath>

#include "engine/config/error.h"
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
  throw run_error(
      fmt::format("tensor {} {} holds {} values of {} that are NaN or infinite; look at the weights and "
                  "inputs that feed it",
                  tensor.name, to_string(tensor.shape), bad, count));
}

bool same_bytes(const TensorSample& a, const TensorSample& b) {
  return a.hash == b.hash && a.shape == b.shape && a.exact == b.exact;
}

}  // namespace

Sampler::Sampler(const Program& program, NotFinite not_finite)
    : Sampler(program, plan_samples(program), not_finite) {}

Sampler::Sampler(const Program& program, SamplePlan plan, NotFinite not_finite)
    : ranks_(program.ranks()), not_finite_(not_finite), plan_(std::move(plan)) {
  samples_.assign(static_cast<size_t>(ranks_),
                  std::vector<std::shared_ptr<const TensorSample>>(program.tensors.size()));
}

void Sampler::on_tensor(int rank, StepId, const Tensor& tensor, const void* data) {
  if (tensor.kind == MemoryKind::Workspace) return;
  const auto id = static_cast<size_t>(tensor.id);
  std::shared_ptr<const TensorSample> sample =
      std::make_shared<TensorSample>(make_sample(tensor, ranks_, rank, data, plan_.details[id]));
  {
    const std::lock_guard lock(mutex_);
    // Replicated tensors are the same bits on every rank: keep them once.
    for (const auto& other : samples_) {
      if (other[id] && same_bytes(*other[id], *sample)) sample = other[id];
    }
    samples_[static_cast<size_t>(rank)][id] = sample;
  }
  if (sample->stats.nan_count > 0 && not_finite_ == NotFinite::StopsTheRun)
    throw_not_finite(tensor, sample->stats.nan_count, sample->stats.count);
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
