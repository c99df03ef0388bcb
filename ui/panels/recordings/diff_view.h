// The state of the comparison of two recordings: which ones, and what is shown.
#pragma once

#include <optional>
#include <string>

#include "engine/train/experiments/diff_session.h"
#include "ui/widgets/sort_order.h"

namespace shardlens::ui {

/// The parts of the comparison below the answer.
enum class DiffPart { Steps, Totals, Memory, Metrics };

/// A moment of one of the two recordings, to be shown as soon as that recording is open.
struct DiffJump {
  std::string file;
  int64_t pass = 0;
  StepId step = -1;
  TensorId tensor = kNoTensor;  ///< none: the step's first output
};

struct DiffView {
  std::string a, b;     ///< paths, or "gallery:NAME"; empty: none is chosen
  bool b_here = false;  ///< B is A's run, run again on this machine
  DiffPart part = DiffPart::Steps;
  SortOrder order;                ///< of the steps
  std::string metric;             ///< whose curves are shown; empty: the first one
  int row = -1;                   ///< the step that was clicked, as an index of the unsorted rows; -1: none
  std::optional<DiffWish> asked;  ///< what was last asked for
  std::optional<DiffJump> jump;
};

}  // namespace shardlens::ui
