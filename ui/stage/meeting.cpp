// Collectives in numbers and words.
#include "ui/stage/meeting.h"

#include <fmt/format.h>

#include <algorithm>

#include "ui/widgets/format.h"

namespace shardlens::ui::stage {
namespace {

// Less than a twentieth of the meeting is not worth a clause.
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
  return explain(program, step) + (program.step(step).beside
                                       ? " The steps after it go on meanwhile, until one needs its result."
                                       : "");
}

std::vector<std::string> band_parts(const Program& program, const Step& step, const Meeting& meeting) {
  std::vector<std::string> parts{collective_title(program, step)};
  const std::string sent = bytes_text(static_cast<double>(sent_bytes(program, step.id))) + " sent per rank";
  const std::string tensor = bytes_text(static_cast<double>(converted_bytes(program, step, 0))) +
                             (step.outputs.size() == 1 ? " tensor" : " together");
  std::string time;
  if (meeting.source == Meeting::Source::Measured) {
    time = format_seconds(meeting.seconds);
    if (meeting.wait_seconds > kWorthNaming * meeting.seconds) {
      time +=
          fmt::format(", of it {} {} rank {}{}", format_seconds(meeting.wait_seconds),
                      step.beside ? "until" : "waiting for", meeting.last_rank, step.beside ? " came" : "");
    }
  } else if (meeting.source == Meeting::Source::Estimated) {
    time = format_seconds(meeting.seconds) + " estimated";
  }
  parts.push_back(tensor);
  if (step.beside) parts.push_back("beside the next steps");
  parts.push_back(sent);
  if (!time.empty()) parts.push_back(time);
  return parts;
}

std::string line_sentence(const Program& program, const Step& step) {
  if (step.op == Op::Slice) {
    return collective_title(program, step) + " · each rank keeps its own part, nothing is sent";
  }
  const std::string letter = letter_of(step.conjugate);
  const Step* half = step.pair >= 0 ? &program.step(step.pair) : nullptr;
  const std::string way = step.phase == Phase::Forward ? "on the way back" : "on the way forward";
  std::string sentence = letter.empty() ? "identity" : letter + " · identity here";
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
