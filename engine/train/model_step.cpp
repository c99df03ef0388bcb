// Runs one executor for all passes, and gathers the tensors of the dump.
#include "engine/train/model_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "engine/base/error.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/gather.h"
#include "engine/runtime/not_finite.h"
#include "engine/runtime/plan.h"
#include "engine/runtime/run_in_pieces.h"
#include "engine/runtime/sampler.h"
#include "engine/runtime/step_times.h"
#include "engine/train/loss_scaler.h"

namespace shardlens {
namespace {

double first_value(const GatheredTensor& tensor, size_t index = 0) {
  if (tensor.dtype == DType::Fp64) {
    double value;
    std::memcpy(&value, tensor.bytes.data() + index * sizeof value, sizeof value);
    return value;
  }
  float value;
  std::memcpy(&value, tensor.bytes.data() + index * sizeof value, sizeof value);
  return static_cast<double>(value);
}

bool is_result(const Tensor& tensor) {
  if (tensor.kind != MemoryKind::Activation) return false;
  return tensor.role == Role::Loss || tensor.role == Role::ClipFactor || tensor.role == Role::Logits ||
         tensor.role == Role::Hidden || tensor.role == Role::SentenceLogits;
}

// Besides results: updated weights, and gradients whose terms are summed.
bool is_dumped(const Tensor& tensor) {
  if (is_result(tensor)) return true;
  return (tensor.kind == MemoryKind::Weight && tensor.storage != kNoTensor) ||
         (tensor.kind == MemoryKind::WeightGradient && tensor.layout.kind != LayoutKind::Partial);
}

/// The last form of a value of one part of the batch: summed over the ranks, and joined where an overlapped
/// collective brings its rows one after the other.
const Tensor& result_of(const Program& program, Role role, int part) {
  const Tensor* last = nullptr;
  for (const Step& step : program.steps) {
    for (const TensorId id : step.outputs) {
      const Tensor& tensor = program.tensor(id);
      const bool is_wanted =
          tensor.kind == MemoryKind::Activation && tensor.role == role && tensor.micro_batch == part;
      if (is_wanted && tensor.layout.kind != LayoutKind::Partial) last = &tensor;
    }
  }
  if (last == nullptr) throw std::logic_error("a Program without " + to_string(role));
  return *last;
}

DumpTensor scalar_list(const std::vector<double>& values, DType dtype) {
  DumpTensor list{dtype, {static_cast<int64_t>(values.size())}, {}};
  for (const double value : values) {
    const float narrow = static_cast<float>(value);
    const auto* bytes = dtype == DType::Fp64 ? reinterpret_cast<const std::byte*>(&value)
                                             : reinterpret_cast<const std::byte*>(&narrow);
    list.bytes.insert(list.bytes.end(), bytes, bytes + element_bytes(dtype));
  }
  return list;
}

// Joins the rows of all replicas and parts of the batch, as many rows as `shape` holds, with the first `cols`
// columns of each.
DumpTensor join_rows(const Program& program, const Gather& gather, Role role, Shape shape, int64_t cols) {
  DumpTensor joined;
  joined.shape = std::move(shape);
  const Settings& settings = program.settings;
  for (int replica = 0; replica < settings.dp; ++replica) {
    for (int part = 0; part < settings.micro_batches; ++part) {
      const GatheredTensor& piece = gather.tensors(replica).at(result_of(program, role, part).name);
      joined.dtype = piece.dtype;
      const auto row_bytes = static_cast<size_t>(piece.shape[1] * element_bytes(piece.dtype));
      const auto kept = static_cast<size_t>(cols * element_bytes(piece.dtype));
      for (int64_t row = 0; row < piece.shape[0]; ++row) {
        const auto begin =
            piece.bytes.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(row) * row_bytes);
        joined.bytes.insert(joined.bytes.end(), begin, begin + static_cast<std::ptrdiff_t>(kept));
      }
    }
  }
  joined.bytes.resize(static_cast<size_t>(element_count(joined.shape) * element_bytes(joined.dtype)));
  return joined;
}

Dump make_dump(const Program& program, const Gather& gather, int64_t rows,
               const std::vector<double>& losses) {
  const Settings& settings = program.settings;
  const Model& model = settings.model;
  Dump dump;
  const DType wide = settings.dtype == DType::Fp64 ? DType::Fp64 : DType::Fp32;
  dump["loss"] = scalar_list({losses.back()}, wide);
  dump["losses"] = scalar_list(losses, wide);
  dump["logits"] = join_rows(program, gather, Role::Logits, {rows, settings.seq, model.vocab}, model.vocab);
  dump["hidden"] = join_rows(program, gather, Role::Hidden, {rows, settings.seq, model.hidden}, model.hidden);
  if (model.objective == Objective::MaskedWords)
    dump["sop_logits"] = join_rows(program, gather, Role::SentenceLogits, {rows, 2}, 2);
  for (const char* prefix : {"grad.", "param."}) dump_parameters(program, gather, prefix, dump);
  return dump;
}

// Detects if a weight's gradient, fp32 here, overflowed on any rank.
class OverflowWatch : public StepObserver {
 public:
  explicit OverflowWatch(int ranks) : ranks_(ranks) {}
  void on_tensor(int rank, StepId, const Tensor& tensor, const void* data) override {
    if (tensor.kind != MemoryKind::WeightGradient) return;
    const auto* values = static_cast<const float*>(data);
    const int64_t count = element_count(local_shape(tensor, ranks_, rank));
    if (!std::all_of(values, values + count, [](float value) { return std::isfinite(value); })) seen_ = true;
  }
  void on_replica_tensor(int, int rank, StepId step, const Tensor& tensor, const void* data) override {
    on_tensor(rank, step, tensor, data);
  }
  bool wants(const Tensor& tensor) const override { return tensor.kind == MemoryKind::WeightGradient; }
  bool seen() const { return seen_; }
  void reset() { seen_ = false; }

 private:
  int ranks_;
  std::atomic<bool> seen_ = false;
};

// A dump shows the gradients of the loss, not those of the scaled loss.
void unscale_gradients(Dump& dump, double scale) {
  for (auto& [name, tensor] : dump) {
    if (!name.starts_with("grad.")) continue;
    auto* values = reinterpret_cast<float*>(tensor.bytes.data());
    for (int64_t i = 0; i < element_count(tensor.shape); ++i) values[i] /= static_cast<float>(scale);
  }
}

Job<ModelStepResult> run(std::shared_ptr<const Plan> plan, ModelStepRequest request) {
  check_runnable(*plan);
  const Program& program = plan->program;
  PassInputs inputs;
  inputs.batch = std::make_shared<const Batch>(request.batch ? padded_batch(program.settings, *request.batch)
                                                             : seeded_batch(program.settings));
  const auto given = static_cast<int64_t>((request.batch ? request.batch : inputs.batch)->tokens.size());
  const int64_t rows = given / program.settings.seq;
  check_batch(program.settings, *inputs.batch);
  inputs.numbers.learning_rate = request.learning_rate;

  const std::string loss_name = program.tensor(kept_result(program, Role::Loss)).name;
  const TensorId norm = kept_result(program, Role::ClipFactor);
  const std::string norm_name = norm == kNoTensor ? std::string() : program.tensor(norm).name;

  Executor executor(plan);
  const std::stop_callback cancel(request.stop,
                                  [&executor] { executor.cancel("the run was stopped before it was done"); });
  // With a scaled loss an overflow is no failure: the update is skipped, or the pass is run again.
  const bool scaled = program.settings.dtype == DType::Fp16;
  LossScaler scaler;
  auto finite = std::make_shared<FiniteCheck>(program.tp());
  auto overflow = std::make_shared<OverflowWatch>(program.tp());
  auto results = std::make_shared<Gather>(program.tp(), is_result);
  auto everything = std::make_shared<Gather>(program.tp(), is_dumped);
  const std::shared_ptr<StepObserver> also = request.observer ? request.observer(executor) : nullptr;
  ModelStepResult result;
  const int passes = std::max(1, request.updates);
  for (int pass = 1; pass <= passes; ++pass) {
    const bool dumped = request.dump && pass == passes;
    const std::shared_ptr<Gather> gather = dumped ? everything : results;
    std::vector<std::shared_ptr<StepObserver>> observers;
    if (scaled)
      observers.push_back(overflow);
    else
      observers.push_back(finite);
    observers.push_back(gather);
    if (also) observers.push_back(also);
    executor.observe(observers);
    inputs.numbers.draw = static_cast<uint64_t>(pass);
    do {
      if (scaled) inputs.loss_scale = scaler.scale();
      overflow->reset();
      executor.next_pass(inputs);
      co_await run_to_end(executor);
      if (scaled) scaler.step_done(overflow->seen());
    } while (overflow->seen() && request.updates == 0 && inputs.loss_scale > 1);
    const double loss = first_value(gather->tensors().at(loss_name));
    // A smaller loss scale helps neither against an overflow before the loss nor at the lowest scale.
    if (!std::isfinite(loss) || (overflow->seen() && inputs.loss_scale <= LossScaler::kLowestScale))
      throw run_error(fmt::format(
          "pass {}: the loss is {}{}. It began here: {}", pass, number_text(loss),
          overflow->seen() ? fmt::format(", and a gradient overflowed at loss scale {}", inputs.loss_scale)
                           : "",
          where_not_finite(executor, program, inputs)));
    if (!overflow->seen()) ++inputs.numbers.iteration;
    result.losses.push_back(loss);
    result.skipped.push_back(overflow->seen());
    if (request.after_pass) request.after_pass(executor, result.losses.back());
    if (request.updates > 0) result.gradient_norms.push_back(first_value(gather->tensors().at(norm_name), 1));
    if (dumped) result.dump = make_dump(program, *everything, rows, result.losses);
    if (dumped && scaled) unscale_gradients(result.dump, inputs.loss_scale);
  }
  for (int rank = 0; rank < program.tp() * program.dp(); ++rank) {
    result.pass_seconds =
        std::max(result.pass_seconds, executor.trace(rank).event(program.steps.size() - 1).end_seconds);
    result.attention_seconds.push_back(attention_seconds(program, executor.trace(rank)));
    result.high_water_bytes.push_back(total_bytes(executor.high_water_bytes(rank)));
  }
  result.communicator = executor.communicator();
  co_return result;
}

}  // namespace

Job<ModelStepResult> model_step_in_pieces(std::shared_ptr<const Plan> plan, ModelStepRequest request) {
  return run(std::move(plan), std::move(request));
}

ModelStepResult run_model_step(const std::shared_ptr<const Plan>& plan, const ModelStepRequest& request) {
  return run_whole(model_step_in_pieces(plan, request));
}

}  // namespace shardlens
