// Notes the writers and readers of all tensors.
#include "engine/program/links.h"

namespace shardlens {
namespace {

// Calls note(tensor, step) for every tensor that a step reads: those it names, and those of which it names
// some rows. A step that reads a tensor twice is noted twice, one call after the other.
template <class Note>
void for_readers(const Program& program, const Note& note) {
  for (const Step& step : program.steps)
    for (const TensorId id : step.inputs) {
      note(id, step.id);
      const Tensor& tensor = program.tensor(id);
      if (is_row_view(program, tensor)) note(tensor.storage, step.id);
    }
}

}  // namespace

Links::Links(const Program& program)
    : program_(program), producer_(program.tensors.size(), -1), begin_(program.tensors.size() + 1, 0) {
  for (const Step& step : program.steps)
    for (const TensorId id : step.outputs)
      if (StepId& first = producer_[static_cast<size_t>(id)]; first < 0) first = step.id;
  std::vector<StepId> last(program.tensors.size(), -1);  // a step counts once
  const auto is_new = [&](TensorId id, StepId step) {
    StepId& newest = last[static_cast<size_t>(id)];
    if (newest == step) return false;
    newest = step;
    return true;
  };
  for_readers(program, [&](TensorId id, StepId step) {
    if (is_new(id, step)) ++begin_[static_cast<size_t>(id) + 1];
  });
  for (size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
  readers_.resize(begin_.back());
  std::vector<size_t> next(begin_.begin(), begin_.end() - 1);
  last.assign(last.size(), -1);
  for_readers(program, [&](TensorId id, StepId step) {
    if (is_new(id, step)) readers_[next[static_cast<size_t>(id)]++] = step;
  });
}

StepId Links::producer_of(TensorId id) const {
  const StepId step = producer_[static_cast<size_t>(id)];
  const Tensor& tensor = program_.tensor(id);
  return step < 0 && is_row_view(program_, tensor) ? producer_of(tensor.storage) : step;
}

std::span<const StepId> Links::consumers_of(TensorId id) const {
  const auto i = static_cast<size_t>(id);
  return std::span(readers_).subspan(begin_[i], begin_[i + 1] - begin_[i]);
}

}  // namespace shardlens
