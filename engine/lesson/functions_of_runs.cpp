// Functions that read what a run computed and measured.
#include "engine/lesson/function_tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/suggest.h"
#include "engine/lesson/evidence.h"
#include "engine/lesson/lesson.h"
#include "engine/lesson/price.h"
#include "engine/runtime/window_reader.h"

namespace shardlens {
namespace {

const BreakProbe& probe_of(Evidence& evidence) {
  const BreakReport& report = evidence.broken(0);
  if (report.probes.empty()) throw request_error("the run with the mistake ended before it was compared");
  return *report.probes.front();
}

bool is_wrong(const TensorParity& parity) {
  return !parity.within_bound();
}

// Of the tensors that a step of the phase writes: how many were compared, and how many are wrong.
std::pair<int64_t, int64_t> compared_and_wrong(const Arguments& a) {
  const std::optional<Phase> phase = phase_in(a, 0);
  const Program& program = a.program();
  const auto counts = [&](StepId step) {
    return !phase || (step >= 0 && program.step(step).phase == *phase);
  };
  int64_t compared = 0, wrong = 0;
  if (a.evidence().mistake()) {
    for (const TensorError& error : probe_of(a.evidence()).errors)
      if (counts(error.step)) ++compared, wrong += error.broken;
    return {compared, wrong};
  }
  const Result& result = a.evidence().run();
  for (const Tensor& tensor : program.tensors) {
    const auto& parity = result.parity[static_cast<size_t>(tensor.id)];
    if (parity && parity->compared && counts(producer_of(program, tensor.id)))
      ++compared, wrong += is_wrong(*parity);
  }
  return {compared, wrong};
}

const StepTimes& times_of(const Arguments& a) {
  const StepId step = a.step(0);
  return a.evidence().run().times->steps[static_cast<size_t>(step)];
}

Value seconds(double value) {
  return number_of(value, Counts::Seconds);
}

const Lateness& lateness_of(const Arguments& a) {
  const std::vector<Lateness>& late = a.evidence().run().late;
  if (late.empty()) throw request_error("no rank is late here: add delays = [\"2:attn.proj:20\"] to the run");
  return late.front();
}

int64_t training_steps(const Arguments& a, size_t at) {
  return a.count() > at ? a.whole(at, 0, kMostLessonSteps) : 0;
}

Value value_of_run(const Arguments& a) {
  const Tensor& tensor = a.program().tensor(a.tensor(0));
  const int rank = a.count() > 3 ? static_cast<int>(a.whole(3, 0, a.program().tp() - 1)) : 0;
  const MatrixShape matrix = local_matrix_shape(tensor, a.program().tp(), rank);
  const int64_t row = a.whole(1, 0, matrix.rows - 1), col = a.whole(2, 0, matrix.cols - 1);
  const SampleTable& samples = a.evidence().samples();
  const auto& sample = samples[static_cast<size_t>(rank)][static_cast<size_t>(tensor.id)];
  if (!sample || !sample->has_exact())
    throw request_error(
        fmt::format("value: the numbers of {} were not kept: choose a smaller batch or seq", tensor.name));
  return number_of(sample->value(row, col));
}

Value right_value_of_run(const Arguments& a) {
  const Tensor& tensor = a.program().tensor(a.tensor(0));
  const MatrixShape matrix = matrix_shape(tensor);
  const int64_t row = a.whole(1, 0, matrix.rows - 1), col = a.whole(2, 0, matrix.cols - 1);
  const std::shared_ptr<Evidence> sound = a.where().store.of(a.evidence().settings());
  const std::vector<double> values =
      serial_values(a.program(), sound->serial(), {tensor.id, {row, row + 1}, {col, col + 1}});
  if (values.empty())
    throw request_error(fmt::format("right_value: the run on one rank has no {}", tensor.value));
  return number_of(values.front());
}

Value error_of_run(const Arguments& a) {
  const TensorId tensor = a.tensor(0);
  if (a.evidence().mistake()) {
    for (const TensorError& error : probe_of(a.evidence()).errors)
      if (error.tensor == tensor) return number_of(error.relative_error);
    throw request_error(
        fmt::format("error: {} is not compared with the sound run", a.program().tensor(tensor).name));
  }
  const auto& parity = a.evidence().run().parity[static_cast<size_t>(tensor)];
  if (!parity)
    throw request_error(fmt::format("error: {} is not compared with T = 1", a.program().tensor(tensor).name));
  return number_of(parity->relative_error);
}

Value agrees_of_run(const Arguments& a) {
  if (a.evidence().mistake()) return !probe_of(a.evidence()).finds();
  return a.evidence().run().parity_summary.agrees;
}

Value first_wrong_of_run(const Arguments& a) {
  if (a.evidence().mistake()) {
    const BreakProbe& probe = probe_of(a.evidence());
    if (!probe.finds()) throw request_error("first_wrong: in one pass no tensor is wrong");
    return a.program().tensor(probe.first_error().tensor).name;
  }
  const TensorId first = a.evidence().run().parity_summary.first_broken;
  if (first == kNoTensor)
    throw request_error("first_wrong: every tensor is right; plant a mistake in this scene");
  return a.program().tensor(first).name;
}

Value wrong_of_run(const Arguments& a) {
  return things(compared_and_wrong(a).second);
}

Value compared_of_run(const Arguments& a) {
  return things(compared_and_wrong(a).first);
}

Value ranks_agree_of_run(const Arguments& a) {
  const TensorId tensor = a.tensor(0);
  const SampleTable& samples = a.evidence().samples();
  for (const auto& rank : samples) {
    const auto &first = samples.front()[static_cast<size_t>(tensor)],
               &other = rank[static_cast<size_t>(tensor)];
    if (!first || !other)
      throw request_error(fmt::format("ranks_agree: {} was not looked at", a.program().tensor(tensor).name));
    if (first->hash != other->hash) return false;
  }
  return true;
}

Value found_by_of_run(const Arguments& a) {
  const std::optional<Finding> first = first_finding(a.evidence().broken(training_steps(a, 0)));
  if (!first) throw request_error("found_by: no check finds this mistake here");
  return to_string(first->check);
}

Value sees_of_run(const Arguments& a) {
  const std::string wanted = a.text(0);
  Names known;
  for (const Finding& finding : findings(a.evidence().broken(training_steps(a, 1)))) {
    if (to_string(finding.check) == wanted) return finding.sees;
    known.push_back(to_string(finding.check));
  }
  throw unknown_name("check", wanted, known);
}

Value looks_healthy_of_run(const Arguments& a) {
  const LossVerdict verdict = loss_verdict(a.evidence().broken(a.whole(0, 1, kMostLessonSteps)));
  if (verdict.steps == 0) throw request_error("looks_healthy: too few steps to judge: give 20 or more");
  return verdict.looks_healthy;
}

Value loss_of_run(const Arguments& a) {
  const int64_t step = a.whole(0, 1, kMostLessonSteps);
  return number_of(a.evidence().losses(step)[static_cast<size_t>(step - 1)]);
}

Value sound_loss_of_run(const Arguments& a) {
  const int64_t step = a.whole(0, 1, kMostLessonSteps);
  return number_of(a.evidence().sound_losses(step)[static_cast<size_t>(step - 1)]);
}

Value time_of_run(const Arguments& a) {
  return seconds(times_of(a).measured_seconds);
}

Value waited_of_run(const Arguments& a) {
  return seconds(times_of(a).waited_seconds);
}

Value pass_time_of_run(const Arguments& a) {
  const Result& result = a.evidence().run();
  const std::optional<Phase> phase = phase_in(a, 0);
  if (!phase) return seconds(result.times->measured_seconds);
  return seconds(*phase == Phase::Forward ? result.forward_seconds : result.backward_seconds);
}

Value late_rank_of_run(const Arguments& a) {
  return things(lateness_of(a).rank);
}

Value waiting_ranks_of_run(const Arguments& a) {
  return things(lateness_of(a).waiting_ranks);
}

Value lost_to_late_of_run(const Arguments& a) {
  return seconds(lateness_of(a).waited_seconds);
}

Value predicted_time_of_plan(const Arguments& a) {
  const StepId step = a.step(0);
  const double predicted = a.evidence().plan().cost[0][static_cast<size_t>(step)].predicted_seconds;
  if (predicted <= 0)
    throw request_error(
        "predicted_time: this machine is not calibrated: add hardware = \"h100-80gb\" or another to the run");
  return seconds(predicted);
}

// clang-format off
constexpr Function kOfRuns[] = {
    {"value", "tensor, row, column[, rank]", 3, 4, Needs::Run, "a number of a rank's piece, as a matrix, from 0", value_of_run},
    {"right_value", "tensor, row, column", 3, 3, Needs::Run, "the same number of the full tensor at T = 1", right_value_of_run},
    {"error", "tensor", 1, 1, Needs::Run, "its relative error: against T = 1, or with a mistake against the sound run", error_of_run},
    {"agrees", "", 0, 0, Needs::Run, "is every tensor within its bound, and every Replicated one the same on all ranks?", agrees_of_run},
    {"first_wrong", "", 0, 0, Needs::Run, "the first tensor that is wrong, in the order of the steps", first_wrong_of_run},
    {"wrong", "[phase]", 0, 1, Needs::Run, "how many tensors are wrong", wrong_of_run},
    {"compared", "[phase]", 0, 1, Needs::Run, "how many tensors were compared", compared_of_run},
    {"ranks_agree", "tensor", 1, 1, Needs::Run, "do all ranks hold the same bits?", ranks_agree_of_run},
    {"found_by", "[steps]", 0, 1, Needs::Training, "the check that finds the mistake first", found_by_of_run},
    {"sees", "check[, steps]", 1, 2, Needs::Training, "does this check find the mistake? The checks: \"gradients against a right run\", … (verify --break lists them)", sees_of_run},
    {"looks_healthy", "steps", 1, 1, Needs::Training, "can the loss curve of so many steps not be told from a sound one?", looks_healthy_of_run},
    {"loss", "step", 1, 1, Needs::Training, "the loss of a training step, from 1, on the built-in text", loss_of_run},
    {"sound_loss", "step", 1, 1, Needs::Training, "the same without the mistake", sound_loss_of_run},
    {"time", "step", 1, 1, Needs::Run, "measured seconds of a step, without waiting; of the slowest rank", time_of_run},
    {"waited", "step", 1, 1, Needs::Run, "measured seconds that a collective waited for its last rank", waited_of_run},
    {"pass_time", "[phase]", 0, 1, Needs::Run, "measured seconds of a pass", pass_time_of_run},
    {"predicted_time", "step", 1, 1, Needs::Plan, "the cost model's seconds of a step, on the scene's hardware", predicted_time_of_plan},
    {"late_rank", "", 0, 0, Needs::Run, "the rank that is late", late_rank_of_run},
    {"waiting_ranks", "", 0, 0, Needs::Run, "ranks that waited for the late one", waiting_ranks_of_run},
    {"lost_to_late", "", 0, 0, Needs::Run, "seconds that the others waited for the late rank, summed", lost_to_late_of_run},
};
// clang-format on

}  // namespace

std::span<const Function> functions_of_runs() {
  return kOfRuns;
}

}  // namespace shardlens
