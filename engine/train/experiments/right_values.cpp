// Keeps the sound run's values and subtracts them from the broken run's.
#include "engine/train/experiments/right_values.h"

#include "engine/io/half.h"

namespace shardlens {
namespace {

// A floating-point buffer as doubles, element by element.
class Elements {
 public:
  Elements(DType dtype, const void* data, int64_t count) : dtype_(dtype), data_(data) {
    if (is_half(dtype)) wide_ = widened(dtype, data, count);
  }
  double at(int64_t i) const {
    const auto index = static_cast<size_t>(i);
    if (dtype_ == DType::Fp64) return static_cast<const double*>(data_)[index];
    return wide_.empty() ? static_cast<const float*>(data_)[index] : wide_[index];
  }

 private:
  DType dtype_;
  const void* data_;
  std::vector<float> wide_;
};

DType difference_dtype(DType dtype) {
  return dtype == DType::Fp64 ? DType::Fp64 : DType::Fp32;
}

template <typename T>
std::vector<std::byte> stored(const std::vector<double>& numbers) {
  const std::vector<T> narrow(numbers.begin(), numbers.end());
  const auto* const begin = reinterpret_cast<const std::byte*>(narrow.data());
  return {begin, begin + narrow.size() * sizeof(T)};
}

}  // namespace

bool is_kept(const Tensor& tensor) {
  return tensor.kind != MemoryKind::Workspace && tensor.layout != kPartialMax;
}

void RightValues::on_tensor(int rank, StepId step, const Tensor& tensor, const void* data) {
  on_replica_tensor(0, rank, step, tensor, data);
}

void RightValues::on_replica_tensor(int replica, int rank, StepId step, const Tensor& tensor,
                                    const void* data) {
  if (replica > 0 && replicas_[static_cast<size_t>(tensor.id)] == OnReplicas::Same) return;
  whole_.on_replica_tensor(replica, rank, step, tensor, data);
  if (replica > 0 || tensor.layout.kind != LayoutKind::Partial) return;
  const auto* const begin = static_cast<const std::byte*>(data);
  std::vector<std::byte> term(begin, begin + local_bytes(tensor, program_.tp(), rank));
  const std::lock_guard lock(mutex_);
  terms_[{tensor.name, rank}] = std::move(term);
}

void RightValues::finish() {
  for (int replica = 0; replica < program_.dp(); ++replica) {
    const auto values = std::make_shared<SerialReference>();
    const std::map<std::string, GatheredTensor>& whole = whole_.tensors(replica);
    for (const Tensor& tensor : program_.tensors) {
      // A sum comes after its terms and overwrites the sum of the terms that was computed here.
      const auto found = whole.find(tensor.name);
      if (found != whole.end()) values->on_tensor(0, -1, tensor, found->second.bytes.data());
    }
    values_.push_back(values);
  }
}

const std::vector<std::byte>* RightValues::term(const std::string& name, int rank) const {
  const auto found = terms_.find({name, rank});
  return found == terms_.end() ? nullptr : &found->second;
}

Differences::Differences(const Program& broken, std::shared_ptr<const RightValues> right,
                         const SamplePlan& plan)
    : ranks_(broken.tp()), right_(std::move(right)), sampler_(broken, plan, Sampler::NotFinite::IsCounted) {}

void Differences::on_tensor(int rank, StepId step, const Tensor& tensor, const void* data) {
  if (!wants(tensor)) return;
  const bool is_term = tensor.layout.kind == LayoutKind::Partial;
  const std::vector<std::byte>* const right =
      is_term ? right_->term(tensor.name, rank) : right_->of_replicas().front()->find(tensor.value);
  const int64_t wanted = is_term ? local_bytes(tensor, ranks_, rank) : tensor.bytes();
  if (right == nullptr || static_cast<int64_t>(right->size()) != wanted) return;
  const MatrixShape own = local_matrix_shape(tensor, ranks_, rank);
  const int64_t count = own.rows * own.cols;
  const Elements here(tensor.dtype, data, count);
  const Elements there(tensor.dtype, right->data(), wanted / element_bytes(tensor.dtype));
  std::vector<double> difference(static_cast<size_t>(count));
  const int64_t full_cols = is_term ? own.cols : matrix_shape(tensor).cols;
  for (const Placement& place : placements(tensor, ranks_, rank)) {
    const Range& rows = is_term ? place.local_rows : place.rows;
    const Range& cols = is_term ? place.local_cols : place.cols;
    for (int64_t i = 0; i < place.rows.size(); ++i) {
      for (int64_t j = 0; j < place.cols.size(); ++j) {
        const int64_t at = (place.local_rows.begin + i) * own.cols + place.local_cols.begin + j;
        difference[static_cast<size_t>(at)] =
            here.at(at) - there.at((rows.begin + i) * full_cols + cols.begin + j);
      }
    }
  }
  Tensor form = tensor;
  form.dtype = difference_dtype(tensor.dtype);
  const std::vector<std::byte> bytes =
      form.dtype == DType::Fp64 ? stored<double>(difference) : stored<float>(difference);
  sampler_.on_tensor(rank, step, form, bytes.data());
}

}  // namespace shardlens
