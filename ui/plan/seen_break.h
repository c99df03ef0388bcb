// The run of a planted mistake that is on the screen: which of its three sides is shown, and what is wrong in
// it. Stage, Inspector, Timeline and Bar ask here, so that they agree.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "engine/train/experiments/break_report.h"
#include "ui/context.h"

namespace shardlens::ui {

/// What is shown of a broken run. One choice for all panels.
enum class BreakSide { Sound, Broken, Difference };
inline constexpr std::array kBreakSides{BreakSide::Sound, BreakSide::Broken, BreakSide::Difference};
const char* side_word(BreakSide side);  ///< "sound", "broken", "difference"

/// The result of one side.
const std::shared_ptr<const Result>& result_of(const BreakPass& pass, BreakSide side);

/// The pass that is shown: the one of training step `step`, else the first that finds something, else the
/// newest. Null if there is none yet.
std::shared_ptr<const BreakProbe> chosen_probe(const BreakReport& report, int64_t step);

class SeenBreak {
 public:
  SeenBreak(std::shared_ptr<const BreakReport> report, std::shared_ptr<const BreakProbe> probe,
            BreakSide side);

  BreakSide side() const { return side_; }
  const BreakReport& report() const { return *report_; }
  const BreakProbe& probe() const { return *probe_; }
  const Program& sound() const { return probe_->pass.sound->plan->program; }
  const Program& broken() const { return probe_->pass.broken->plan->program; }
  /// The Program on the screen: the broken one, unless the sound side is shown.
  const Program& shown() const { return side_ == BreakSide::Sound ? sound() : broken(); }

  /// The tensor of `side`'s Program that corresponds to one on the screen; kNoTensor: there is none.
  TensorId tensor_of(BreakSide side, TensorId shown) const;
  /// What the tensor of that side was on a rank; null: it does not exist there.
  std::shared_ptr<const TensorSample> sample(BreakSide side, TensorId shown, int rank) const;

  /// The error of a tensor on the screen in the broken run; null: it was not compared.
  const TensorError* error(TensorId shown) const;
  /// True if the screen shows wrong values of this tensor.
  bool is_wrong(TensorId shown) const;
  /// True if the screen shows values of two ranks that should be equal and are not.
  bool differ(TensorId shown, int a, int b) const;
  /// The collective that a step on the screen leaves out; null: none.
  const Step* left_out(StepId shown) const;

 private:
  struct Index;
  static const Index& index_of(const std::shared_ptr<const BreakProbe>& probe);

  std::shared_ptr<const BreakReport> report_;
  std::shared_ptr<const BreakProbe> probe_;
  const Index* index_;  ///< cached for a few probes
  BreakSide side_;
};

/// Nothing if the shown snapshot is not that of a planted mistake.
std::optional<SeenBreak> seen_break(const Context& context);

}  // namespace shardlens::ui
