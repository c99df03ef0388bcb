// Moves an all-reduce forward to its product, or turns one product and its all-reduce into a pair for each
// chunk, and a join.
#include "engine/planner/overlap.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardlens {
namespace {

// True if the product X·W is followed directly by its all-reduce over T.
bool is_reduced_product(const Program& program, const Step& product) {
  const auto next = static_cast<size_t>(product.id) + 1;
  if (product.op != Op::Linear || next >= program.steps.size()) return false;
  const Step& sum = program.steps[next];
  return sum.op == Op::AllReduce && sum.axis == Axis::Tp && sum.inputs == product.outputs;
}

// Some rows of `of`, as a tensor in the bytes of `of`.
TensorId rows_of(Program& program, TensorId of, const Range& rows, int chunk) {
  Tensor view = program.tensor(of);
  view.id = static_cast<TensorId>(program.tensors.size());
  view.name += fmt::format(".rows{}", chunk);
  view.value += fmt::format(".rows{}", chunk);
  view.storage = of;
  view.first_row = rows.begin;
  view.shape[0] = rows.size();
  view.keep = false;
  program.tensors.push_back(std::move(view));
  return program.tensors.back().id;
}

// The sum of the Partial `of` over the ranks, in the same bytes.
TensorId summed(Program& program, TensorId of, const Tensor& whole_sum, int chunk) {
  Tensor sum = program.tensor(of);
  sum.id = static_cast<TensorId>(program.tensors.size());
  sum.name = fmt::format("{}.rows{}", whole_sum.name, chunk);
  sum.layout = whole_sum.layout;
  sum.storage = of;
  sum.first_row = 0;
  program.tensors.push_back(std::move(sum));
  return program.tensors.back().id;
}

using Place = std::vector<Step>::iterator;

bool is_in(TensorId tensor, const std::vector<TensorId>& tensors) {
  return std::ranges::find(tensors, tensor) != tensors.end();
}

// The place right after the product that makes the dX that `sum` adds up, if later steps need the sum.
// Returns `sum` itself if none does, or if a step between them reads dX, where the search stops.
Place earliest(std::vector<Step>& steps, Place sum) {
  if (sum->op != Op::AllReduce || sum->axis != Axis::Tp || sum->phase != Phase::Backward ||
      sum->inputs.size() > 1)
    return sum;
  const TensorId dx = sum->inputs[0], whole = sum->outputs[0];
  if (std::none_of(sum + 1, steps.end(), [&](const Step& later) { return is_in(whole, later.inputs); }))
    return sum;
  for (Place behind = sum; behind != steps.begin(); --behind) {
    const Step& before = *std::prev(behind);
    if (is_in(dx, before.outputs)) return before.op == Op::LinearGradInput ? behind : sum;
    if (is_in(dx, before.inputs)) break;
  }
  return sum;
}

}  // namespace

void overlap_input_gradients(Program& program) {
  if (program.replicas() > 1) return;
  bool is_moved = false;
  for (Place sum = program.steps.begin(); sum != program.steps.end(); ++sum) {
    const Place place = earliest(program.steps, sum);
    if (place == sum) continue;
    sum->beside = is_moved = true;
    std::rotate(place, sum, sum + 1);
  }
  if (is_moved) renumber(program.steps);
}

void overlap_reductions(Program& program, int chunks) {
  std::vector<Step> steps;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const Step product = program.steps[i];
    if (!is_reduced_product(program, product)) {
      steps.push_back(product);
      continue;
    }
    const Step sum = program.steps[++i];
    const Tensor whole_sum = program.tensor(sum.outputs[0]);
    const int64_t rows = whole_sum.shape[0];
    const int parts = static_cast<int>(std::min<int64_t>(chunks, rows));
    Step join = sum;
    join.op = Op::Join;
    join.name = "join " + whole_sum.value;
    join.equation = fmt::format("{} = its {} parts", whole_sum.symbol, parts);
    join.conjugate = Conjugate::None;
    join.id = join.pair = -1;
    join.inputs.clear();
    for (int part = 0; part < parts; ++part) {
      const Range range = shard_range(rows, parts, part);
      const std::string which = fmt::format(", rows {} to {}", range.begin, range.end - 1);
      Step piece = product;
      piece.name += fmt::format(" {} of {}", part + 1, parts);
      piece.equation += which;
      piece.inputs[0] = rows_of(program, product.inputs[0], range, part);
      piece.outputs = {rows_of(program, product.outputs[0], range, part)};
      Step reduce = sum;
      reduce.name += fmt::format(" {} of {}", part + 1, parts);
      reduce.equation += which;
      reduce.beside = true;
      reduce.inputs = piece.outputs;
      reduce.outputs = {summed(program, piece.outputs[0], whole_sum, part)};
      join.inputs.push_back(reduce.outputs[0]);
      steps.push_back(std::move(piece));
      steps.push_back(std::move(reduce));
    }
    steps.push_back(std::move(join));
  }
  renumber(steps);
  program.steps = std::move(steps);
}

}  // namespace shardlens
