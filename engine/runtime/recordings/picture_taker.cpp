// Takes pictures, measures their cost, and hands them over.
#include "engine/runtime/recordings/picture_taker.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/base/clock.h"

namespace shardlens {
namespace {

// The limit for one pass: it must not need more room than the data that may wait for the disk.
constexpr int64_t kMostPassBytes = int64_t{24} << 20;

}  // namespace

std::string to_string(const PictureOptions& options) {
  switch (options.taken) {
    case PictureOptions::Taken::Off:
      return "off";
    case PictureOptions::Taken::All:
      return "all";
    case PictureOptions::Taken::UnderBudget:
      return fmt::format("{:.6g} % of step time", options.budget_share * 100);
  }
  return {};
}

PictureTaker::PictureTaker(const Program& program, const PictureOptions& options)
    : program_(program),
      taken_(static_cast<size_t>(program.tp()), std::vector<Taken>(program.tensors.size())),
      weights_(static_cast<size_t>(program.tp()), Weights{{}, false, {program.tensors.size(), nullptr}}) {
  const int64_t extent = picture_extent(program, program.tp(), options.extent, kMostPassBytes);
  // A tensor that is no larger than a picture keeps its exact values.
  details_.assign(program.tensors.size(), SampleDetail{extent, extent * extent});
  if (options.taken == PictureOptions::Taken::All) return;
  std::vector<int> order;
  for (const Tensor& tensor : program.tensors)
    if (tensor.kind != MemoryKind::Workspace) order.push_back(tensor.id);
  budget_.emplace(options.budget_share, std::move(order), program.tensors.size());
}

bool PictureTaker::wants(const Tensor& tensor) const {
  const auto id = static_cast<size_t>(tensor.id);
  return tensor.kind != MemoryKind::Workspace && (!budget_ || budget_->wanted()[id]);
}

void PictureTaker::on_pass(int rank, uint64_t pass, bool weights_kept) {
  Weights& weights = weights_[static_cast<size_t>(rank)];
  // Under a budget they may have changed without being seen.
  weights.known = !budget_ && weights_kept && weights.pass && *weights.pass + 1 == pass;
  weights.pass = pass;
}

void PictureTaker::on_copy(int rank, const Tensor& tensor, double seconds) {
  if (wants(tensor)) taken_[static_cast<size_t>(rank)][static_cast<size_t>(tensor.id)].seconds += seconds;
}

void PictureTaker::on_tensor(int rank, StepId step, const Tensor& tensor, const void* data) {
  if (!wants(tensor)) return;
  const auto id = static_cast<size_t>(tensor.id);
  const double begin = now_seconds();
  Taken& taken = taken_[static_cast<size_t>(rank)][id];
  taken.sample = known_sample(rank, step, tensor);
  if (!taken.sample)
    taken.sample =
        std::make_shared<const TensorSample>(make_sample(tensor, program_.tp(), rank, data, details_[id]));
  if (tensor.kind == MemoryKind::Weight) {
    const TensorId memory = tensor.storage == kNoTensor ? tensor.id : tensor.storage;
    weights_[static_cast<size_t>(rank)].samples[static_cast<size_t>(memory)] = taken.sample;
  }
  taken.seconds += now_seconds() - begin;
}

// Returns a sample that is already known: the result of an identity is its input, which may have been sampled
// just before, and the weights of a pass may be those that the pass before left.
std::shared_ptr<const TensorSample> PictureTaker::known_sample(int rank, StepId step,
                                                               const Tensor& tensor) const {
  const bool fed = step < 0;
  if (fed ? tensor.kind != MemoryKind::Weight : program_.step(step).op != Op::Identity) return nullptr;
  const auto at = static_cast<size_t>(rank);
  if (fed && !weights_[at].known) return nullptr;
  const auto id = static_cast<size_t>(fed ? tensor.id : program_.step(step).inputs.front());
  const std::shared_ptr<const TensorSample>& sample = fed ? weights_[at].samples[id] : taken_[at][id].sample;
  if (!sample || sample->dtype != tensor.dtype) return nullptr;
  const MatrixShape matrix = local_matrix_shape(tensor, program_.tp(), rank);
  const bool alike = sample->matrix.rows == matrix.rows && sample->matrix.cols == matrix.cols &&
                     sample->shape == local_shape(tensor, program_.tp(), rank);
  return alike ? sample : nullptr;
}

SampleTable PictureTaker::take(double pass_seconds, double writing_seconds) {
  SampleTable table(taken_.size(), std::vector<std::shared_ptr<const TensorSample>>(program_.tensors.size()));
  std::vector<double> seconds(program_.tensors.size(), 0);  // of the slowest rank, for which the others wait
  std::vector<int> samples(program_.tensors.size(), 0);     // how many will be written
  seconds_ = 0;
  for (size_t rank = 0; rank < taken_.size(); ++rank) {
    double of_rank = 0;
    for (size_t id = 0; id < taken_[rank].size(); ++id) {
      Taken& taken = taken_[rank][id];
      of_rank += taken.seconds;
      seconds[id] = std::max(seconds[id], taken.seconds);
      table[rank][id] = std::exchange(taken.sample, nullptr);
      taken.seconds = 0;
      // A Replicated tensor has the same bits on every rank: keep one sample.
      const auto& first = table.front()[id];
      if (rank > 0 && first && table[rank][id] && first->hash == table[rank][id]->hash &&
          first->shape == table[rank][id]->shape)
        table[rank][id] = first;
      else if (table[rank][id])
        ++samples[id];
    }
    seconds_ = std::max(seconds_, of_rank);
  }
  for (size_t id = 0; id < seconds.size(); ++id) seconds[id] += samples[id] * writing_seconds;
  if (budget_) budget_->pass_done(pass_seconds, seconds);
  return table;
}

}  // namespace shardlens
