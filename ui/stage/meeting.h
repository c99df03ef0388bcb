// A collective's times: its duration, the waiting in it, and the last rank; and the text on its band. The
// numbers are those of this run. If there is only a prediction, the text says so.
#pragma once

#include <string>
#include <vector>

#include "engine/runtime/snapshot.h"
#include "ui/context.h"

namespace shardlens::ui::stage {

struct Meeting {
  enum class Source { None, Estimated, Measured };
  Source source = Source::None;
  double seconds = 0;       ///< from the first arrival to the last end
  double wait_seconds = 0;  ///< the part until the last rank arrived
  int last_rank = -1;       ///< the rank that arrived last
  double clock_step = 0;    ///< of the clock that measured it
  bool for_a_core = false;  ///< the ranks shared cores, so they waited mostly for one
};

/// Returns the times of the collective `step`: measured if every rank has passed it, else estimated by the
/// plan, else None.
Meeting meeting_of(const Plan& plan, const Result* result, StepId step);

/// What a band leaves out, because a lesson asks for it.
struct KeptBack {
  bool sent = false;     ///< the sent bytes
  bool waiting = false;  ///< how long the ranks waited, and for which
};
KeptBack kept_back(const Context& context);

/// Returns "all-reduce Z": the collective and the symbol of the tensor that it converts.
std::string collective_title(const Program& program, const Step& step);

/// Says why the step is there. For an overlapped collective it adds that later steps run at the same time.
std::string reason_of(const Program& program, StepId step);

/// Returns the band's text in several forms, from the longest to the title only; a band shows the first that
/// fits. The sent bytes are dropped last, because they are the same in every run.
std::vector<std::string> band_forms(const Program& program, const Step& step, const Meeting& meeting,
                                    KeptBack kept_back = {});

/// Returns the text of a line row: "f · nothing to do here, all-reduce on the way back", "slice G · …,
/// nothing is sent".
std::string line_sentence(const Program& program, const Step& step);

/// Returns "f" or "g" for a step with that mark, else an empty text.
std::string letter_of(Conjugate conjugate);

}  // namespace shardlens::ui::stage
