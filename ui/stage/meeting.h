// A collective as the event it was: how long, how much of that was waiting, and for whom; and the sentence on
// its band. The numbers are this run's; where only a prediction exists, the sentence says so.
#pragma once

#include <string>
#include <vector>

#include "engine/runtime/snapshot.h"

namespace shardlens::ui::stage {

struct Meeting {
  enum class Source { None, Estimated, Measured };
  Source source = Source::None;
  double seconds = 0;       ///< from the first arrival to the last end
  double wait_seconds = 0;  ///< of it, until the last rank arrived
  int last_rank = -1;       ///< who arrived last
};

/// The meeting at `step`; measured when every rank has passed it, else estimated by the plan, else None.
Meeting meeting_of(const Plan& plan, const Result* result, StepId step);

/// "all-reduce Z" in words: the collective and the symbol of what it converts.
std::string collective_title(const Program& program, const Step& step);

/// Why the step is there, and of one beside the others that they go on meanwhile.
std::string reason_of(const Program& program, StepId step);

/// The band's sentence from its fullest form to the title alone: a band shows the first that fits. What is
/// sent stays longest, since it is the same in every run.
std::vector<std::string> band_forms(const Program& program, const Step& step, const Meeting& meeting);

/// What a line row says: "f · identity here, all-reduce on the way back", "slice G · …, nothing is sent".
std::string line_sentence(const Program& program, const Step& step);

/// "f" or "g" for a step that carries the mark, else empty.
std::string letter_of(Conjugate conjugate);

}  // namespace shardlens::ui::stage
