// Runs the example "by hand" beside the frames, and finds the number that is written out.
#include <algorithm>

#include "engine/io/file_problem.h"
#include "ui/panels/program/by_hand_view.h"

namespace shardlens::ui {
namespace {

/// Most runs end within it, so that what was typed is shown in the same frame.
constexpr double kAwaitedSeconds = 0.004;

/// The first number that is wrong, in the order of the steps.
std::optional<HandNumber> first_wrong_number(const lab::HandRun& run) {
  const StepId wrong = run.first_wrong();
  if (wrong < 0) return std::nullopt;
  for (const TensorId tensor : run.program().step(wrong).outputs)
    for (int64_t row = 0; row < lab::kHandSize; ++row)
      for (int64_t col = 0; col < lab::kHandSize; ++col)
        for (int rank = 0; rank < lab::kHandRanks; ++rank)
          if (run.is_wrong(tensor, rank, row, col)) return HandNumber{wrong, tensor, row, col};
  return std::nullopt;
}

}  // namespace

bool HandRuns::take() {
  if (!running_ || !running_->wait_for(0)) return false;
  const Made& made = running_->get();
  shown_ = made.run;
  failed_ = made.failed;
  running_.reset();
  return true;
}

Job<HandRuns::Made> HandRuns::make(HandForm form) {
  Made made;
  try {
    made.run = lab::run_by_hand(form.operands, form.choice);
  } catch (const std::exception& error) {
    made.failed = message_of(error);
  }
  co_return made;
}

void HandRuns::follow(const HandForm& form) {
  take();
  if (is_running() || form_ == form) return;
  form_ = form;
  try {
    running_ = std::make_shared<BackgroundCall<Made>>("the example by hand", make(form));
  } catch (const std::exception& error) {  // no worker could start
    shown_ = nullptr;
    failed_ = message_of(error);
    return;
  }
  running_->wait_for(kAwaitedSeconds);
  take();
}

HandNumber shown_number(const ByHandView& view, const lab::HandRun& run) {
  const Program& program = run.program();
  HandNumber first, summed;
  for (const Step& step : program.steps)
    for (const TensorId tensor : step.outputs) {
      if (program.tensor(tensor).name == view.tensor) return {step.id, tensor, view.row, view.col};
      if (first.step < 0) first = {step.id, tensor};
      if (summed.step < 0 && program.tensor(tensor).layout.kind == LayoutKind::Partial)
        summed = {step.id, tensor};
    }
  if (const std::optional<HandNumber> wrong = first_wrong_number(run)) return *wrong;
  return summed.step >= 0 ? summed : first;
}

}  // namespace shardlens::ui
