// Plans and runs the example "by hand", and keeps what every rank held.
#include "engine/laboratory/by_hand.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/base/error.h"
#include "engine/planner/planner.h"
#include "engine/runtime/backend.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/plan.h"
#include "engine/runtime/serial_reference.h"

namespace shardlens::lab {
namespace {

constexpr std::array kMistakes{Fault::SkipG, Fault::BiasBeforeReduction, Fault::GeluOnPartial, Fault::SkipF,
                               Fault::ReduceCopy};
/// Two numbers that are further apart, relative to the larger one, are not equal but for rounding.
constexpr double kRoundedApart = 1e-12;

Settings settings_of(const HandChoice& choice) {
  Settings settings;
  settings.model.name = "by-hand";
  settings.model.title = "by hand";
  settings.model.layers = 1;
  settings.model.hidden = settings.model.ffn = kHandSize;
  settings.model.heads = kHandRanks;
  settings.model.positions = kHandSize;
  settings.block = Block::Mlp;
  settings.batch = 1;
  settings.seq = kHandSize;
  settings.tp = kHandRanks;
  settings.dtype = DType::Fp64;
  settings.fusion = Fusion::Off;
  settings.threads_per_rank = 1;
  settings.communicator = CommunicatorChoice::Local;
  settings.split.name = "by-hand";
  settings.split.mlp_fc = choice.fc;
  settings.split.mlp_proj = choice.proj;
  settings.split.norm = choice.stream;
  return settings;
}

bool is_in(Range range, int64_t index) {
  return index >= range.begin && index < range.end;
}

/// Makes every GeLU and its gradient a step that passes its operand on.
void leave_gelu_out(Program& program) {
  for (Step& step : program.steps) {
    if (step.op != Op::Gelu && step.op != Op::GeluGrad) continue;
    const TensorId from = input_of(program, step, step.op == Op::Gelu ? Operand::GeluInput : Operand::Dy);
    const TensorId to = step.outputs.front();
    const TensorId room = program.tensor(from).storage;
    program.tensors[static_cast<size_t>(to)].storage = room != kNoTensor ? room : from;
    step.op = Op::Identity;
    step.inputs = {from};
    step.outputs = {to};
    step.equation = program.tensor(to).symbol + " = " + program.tensor(from).symbol;
  }
}

/// Keeps what the ranks hold after every step.
class Keep : public StepObserver {
 public:
  explicit Keep(HandRun& run) : run_(run) {}

  bool wants(const Tensor& tensor) const override { return tensor.kind != MemoryKind::Workspace; }
  void on_tensor(int rank, StepId, const Tensor& tensor, const void* data) override {
    HandPiece& piece = run_.tensors[static_cast<size_t>(tensor.id)].ranks[static_cast<size_t>(rank)];
    const auto* values = static_cast<const double*>(data);
    piece.shape = local_matrix_shape(tensor, kHandRanks, rank);
    piece.places = placements(tensor, kHandRanks, rank);
    piece.values.assign(values, values + piece.shape.rows * piece.shape.cols);
  }

 private:
  HandRun& run_;
};

/// Gives every rank its slice of what was typed, and runs the plan.
void run_with(const std::shared_ptr<const Plan>& plan, const HandOperands& operands,
              const std::shared_ptr<StepObserver>& observer) {
  const Program& program = plan->program;
  Executor executor(plan, take_local_seats(plan, make_backend(program.settings)), nullptr);
  executor.wait();
  for (size_t i = 0; i < kHandOperands; ++i) {
    const auto operand = static_cast<HandOperand>(i);
    const Tensor& tensor = program.tensor(tensor_of(program, operand));
    for (int rank = 0; rank < program.tp(); ++rank) {
      const MatrixShape shape = local_matrix_shape(tensor, program.tp(), rank);
      std::vector<double> slice(static_cast<size_t>(shape.rows * shape.cols));
      for (const Placement& place : placements(tensor, program.tp(), rank))
        for (int64_t r = 0; r < place.rows.size(); ++r)
          for (int64_t c = 0; c < place.cols.size(); ++c)
            slice[static_cast<size_t>((place.local_rows.begin + r) * shape.cols + place.local_cols.begin +
                                      c)] = operands.at(operand, place.rows.begin + r, place.cols.begin + c);
      executor.write_tensor(rank, tensor.id, slice.data());
    }
  }
  executor.observe({observer});
  executor.start(executor.steps());
  executor.wait();
}

}  // namespace

TensorId tensor_of(const Program& program, HandOperand operand) {
  const std::string name = tensor_name(operand);
  const auto found = std::find_if(program.tensors.begin(), program.tensors.end(),
                                  [&](const Tensor& tensor) { return tensor.name == name; });
  return found == program.tensors.end() ? kNoTensor : found->id;
}

std::span<const Fault> hand_mistakes() {
  return kMistakes;
}

Program hand_program(const HandChoice& choice) {
  Program program = plan_program(settings_of(choice));
  // Without GeLU there is none that could act on a term: it is left out before the mistake is planted.
  if (!choice.gelu) leave_gelu_out(program);
  return choice.mistake ? plant(std::move(program), *choice.mistake) : program;
}

bool can_have(HandChoice choice, Fault mistake) {
  choice.mistake = mistake;
  try {
    hand_program(choice);
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::optional<double> HandPiece::at(int64_t row, int64_t col) const {
  if (values.empty()) return std::nullopt;
  for (const Placement& place : places) {
    if (!is_in(place.rows, row) || !is_in(place.cols, col)) continue;
    const int64_t r = place.local_rows.begin + row - place.rows.begin,
                  c = place.local_cols.begin + col - place.cols.begin;
    return values[static_cast<size_t>(r * shape.cols + c)];
  }
  return std::nullopt;
}

const Program& HandRun::program() const {
  return plan->program;
}

double HandRun::serial(TensorId tensor, int64_t row, int64_t col) const {
  const int64_t cols = matrix_shape(program().tensor(tensor)).cols;
  return of(tensor).serial[static_cast<size_t>(row * cols + col)];
}

std::optional<double> HandRun::value(TensorId tensor, int rank, int64_t row, int64_t col) const {
  const auto& ranks = of(tensor).ranks;
  if (program().tensor(tensor).layout.kind != LayoutKind::Partial)
    return ranks[static_cast<size_t>(rank)].at(row, col);
  double sum = 0;
  for (const HandPiece& piece : ranks) sum += piece.at(row, col).value_or(0);
  return sum;
}

bool HandRun::is_wrong(TensorId tensor, int rank, int64_t row, int64_t col) const {
  const std::optional<double> has = value(tensor, rank, row, col);
  if (!has || of(tensor).serial.empty()) return false;
  const double wants = serial(tensor, row, col);
  return std::abs(*has - wants) > kRoundedApart * std::max({1.0, std::abs(*has), std::abs(wants)});
}

bool HandRun::is_wrong(TensorId tensor) const {
  const MatrixShape shape = matrix_shape(program().tensor(tensor));
  for (int rank = 0; rank < kHandRanks; ++rank)
    for (int64_t row = 0; row < shape.rows; ++row)
      for (int64_t col = 0; col < shape.cols; ++col)
        if (is_wrong(tensor, rank, row, col)) return true;
  return false;
}

StepId HandRun::first_wrong() const {
  for (const Step& step : program().steps)
    for (const TensorId tensor : step.outputs)
      if (is_wrong(tensor)) return step.id;
  return -1;
}

std::shared_ptr<const HandRun> run_by_hand(const HandOperands& operands, const HandChoice& choice) {
  auto run = std::make_shared<HandRun>();
  run->plan = make_plan(hand_program(choice));
  run->operands = operands;
  run->choice = choice;
  run->tensors.resize(run->program().tensors.size());
  run_with(run->plan, operands, std::make_shared<Keep>(*run));

  Program alone = plan_serial(settings_of(choice));
  if (!choice.gelu) leave_gelu_out(alone);
  const auto reference = std::make_shared<SerialReference>();
  run_with(make_plan(std::move(alone)), operands, reference);
  for (const Tensor& tensor : run->program().tensors)
    run->tensors[static_cast<size_t>(tensor.id)].serial = reference->numbers(tensor.value);
  return run;
}

}  // namespace shardlens::lab
