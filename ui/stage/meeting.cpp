// Computes the times of collectives and writes their text.
#include "ui/stage/meeting.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/runtime/core_sharing.h"
#include "ui/lesson/lesson_view.h"
#include "ui/plan/measured.h"
#include "ui/widgets/format.h"

namespace shardlens::ui::stage {
namespace {

// Waiting is mentioned only if it is more than a twentieth of the collective's time.
constexpr double kWorthNaming = 0.05;

}  // namespace

Meeting meeting_of(const Plan& plan, const Result* result, StepId step) {
  const size_t index = static_cast<size_t>(step);
  Meeting meeting;
  if (result && !result->events.empty() &&
      std::all_of(result->events.begin(), result->events.end(),
                  [&](const std::vector<StepEvent>& track) { return track.size() > index; })) {
    meeting.source = Meeting::Source::Measured;
    double first_arrival = 0, last_end = 0, last_arrival = 0;
    for (size_t rank = 0; rank < result->events.size(); ++rank) {
      const StepEvent& event = result->events[rank][index];
      if (rank == 0 || event.arrival_seconds < first_arrival) first_arrival = event.arrival_seconds;
      if (rank == 0 || event.end_seconds > last_end) last_end = event.end_seconds;
      if (rank == 0 || event.arrival_seconds > last_arrival) {
        last_arrival = event.arrival_seconds;
        meeting.last_rank = static_cast<int>(rank);
      }
    }
    meeting.seconds = last_end - first_arrival;
    meeting.wait_seconds = last_arrival - first_arrival;
    meeting.clock_step = clock_step_of(result);
    meeting.for_a_core = core_sharing(*result).has_value();
    return meeting;
  }
  for (const std::vector<StepCost>& track : plan.cost) {
    if (track.size() > index) meeting.seconds = std::max(meeting.seconds, track[index].predicted_seconds);
  }
  if (meeting.seconds > 0) meeting.source = Meeting::Source::Estimated;
  return meeting;
}

std::string collective_title(const Program& program, const Step& step) {
  return fmt::format("{} {}", to_string(collective_of(step.op)), converted_words(program, step));
}

std::string reason_of(const Program& program, StepId step) {
  return explain(program, step) + (program.step(step).overlapped
                                       ? " Later steps run at the same time, until one needs its result."
                                       : "");
}

KeptBack kept_back(const Context& context) {
  return {.sent = keeps_back(context, "sent_bytes"),
          .waiting = keeps_back(context, "waiting_ranks") || keeps_back(context, "late_rank")};
}

std::vector<std::string> band_forms(const Program& program, const Step& step, const Meeting& meeting,
                                    KeptBack kept_back) {
  const std::string title = collective_title(program, step);
  const std::string sent =
      kept_back.sent ? "" : bytes_text(static_cast<double>(sent_bytes(program, step.id))) + " sent";
  const std::string sent_per_rank = kept_back.sent ? "" : sent + " per rank";
  const std::string tensor = bytes_text(static_cast<double>(converted_bytes(program, step, 0))) +
                             (step.outputs.size() == 1 ? " tensor" : " together");
  const std::string overlap = step.overlapped ? "overlaps next steps" : "";
  std::string time, waiting, for_whom, for_what;
  if (meeting.source == Meeting::Source::Measured) {
    time = measured_text(meeting.seconds, meeting.clock_step);
    if (meeting.wait_seconds > kWorthNaming * meeting.seconds && !kept_back.waiting) {
      const std::string wait = time + ", " + measured_text(meeting.wait_seconds, meeting.clock_step);
      waiting = wait + " waiting";
      for_whom = step.overlapped ? fmt::format("{} until rank {} arrived", wait, meeting.last_rank)
                                 : fmt::format("{} for rank {}", waiting, meeting.last_rank);
      if (meeting.for_a_core && !step.overlapped) for_what = for_whom + ", mostly for a free core";
      if (step.overlapped) waiting.clear();  // perhaps no rank waited
    }
  } else if (meeting.source == Meeting::Source::Estimated) {
    time = format_seconds(meeting.seconds) + " estimated";
  }
  std::vector<std::string> forms;
  const auto add = [&](std::vector<std::string> parts) {
    std::erase(parts, "");
    const std::string form = fmt::format("{}", fmt::join(parts, " · "));
    if (forms.empty() || forms.back() != form) forms.push_back(form);
  };
  const std::string longest = for_whom.empty() ? time : for_whom;
  if (!for_what.empty()) {
    add({title, tensor, sent_per_rank, for_what});
    add({title, sent_per_rank, for_what});
  }
  add({title, tensor, overlap, sent_per_rank, longest});
  add({title, overlap, sent_per_rank, longest});
  add({title, sent_per_rank, longest});
  add({title, sent, longest});
  add({title, sent, waiting.empty() ? time : waiting});
  add({title, sent, time});
  add({title, sent});
  add({title});
  return forms;
}

std::string line_sentence(const Program& program, const Step& step) {
  if (step.op == Op::Slice) {
    return collective_title(program, step) + " · each rank keeps its own part, nothing is sent";
  }
  const std::string letter = letter_of(step.conjugate);
  const Step* half = step.pair >= 0 ? &program.step(step.pair) : nullptr;
  const std::string way = step.phase == Phase::Forward ? "on the way back" : "on the way forward";
  std::string sentence = letter.empty() ? "nothing to do here" : letter + " · nothing to do here";
  if (half) sentence += fmt::format(", {} {}", to_string(collective_of(half->op)), way);
  return sentence;
}

std::string letter_of(Conjugate conjugate) {
  switch (conjugate) {
    case Conjugate::None:
      return {};
    case Conjugate::F:
      return "f";
    case Conjugate::G:
      return "g";
  }
  return {};
}

}  // namespace shardlens::ui::stage
