// Texts, tooltips and colours of the Bar's chips.
#include "ui/panels/bar/bar_chips.h"

#include <fmt/format.h>

#include "engine/base/counted.h"
#include "engine/base/units.h"
#include "ui/commands/commands.h"
#include "ui/commands/glossary.h"
#include "ui/commands/walk.h"
#include "ui/frame/notice.h"
#include "ui/lesson/lesson_view.h"
#include "ui/panels/faults/faults.h"
#include "ui/panels/setup/delays.h"
#include "ui/plan/shown_plan.h"
#include "ui/widgets/format.h"
#include "ui/widgets/sentence.h"

namespace shardlens::ui {

namespace {

// ", on rank 1 of replica 0"
std::string broken_on(const Result& result, TensorId tensor) {
  const auto& parity = result.parity[static_cast<size_t>(tensor)];
  const std::string place = place_words(parity->replica, parity->rank);
  return place.empty() ? "" : ", on " + place;
}

}  // namespace

Chip parity_chip(const Snapshot& snapshot, const Theme& theme) {
  Chip chip{.text = "not yet compared with serial",
            .short_text = "not compared",
            .least_text = "",
            .tooltip = "Every activation and gradient will be compared with a run on one rank.",
            .colour = theme.dim,
            .mark = Mark::Ring};
  const std::shared_ptr<const Result> shown = shown_result(snapshot);
  if (snapshot.only_planned()) {
    chip.text = chip.short_text = chip.least_text = "not run";
    chip.tooltip = "Nothing has run, so nothing can be compared.";
  }
  if (snapshot.stale()) return chip;  // the comparison belongs to other settings
  if (shown && !shown->not_compared.empty()) {
    chip.text = "not compared with serial";
    chip.tooltip = shown->not_compared;
  }
  if (!shown || !shown->parity_summary.known) return chip;
  const Result& result = *shown;
  const ParitySummary& parity = result.parity_summary;
  const Program& program = result.plan->program;
  const std::string error = format_error(parity.worst_relative_error);
  const std::string worst = parity.worst_tensor == kNoTensor
                                ? ""
                                : fmt::format(" Worst tensor: {}, with a relative error of {}.",
                                              program.tensor(parity.worst_tensor).name, error);
  const Coverage& coverage = parity.coverage;
  const std::string count = fmt::format("{} of {}", coverage.compared, coverage.tensors());
  std::string compared = fmt::format("\n{} compared{}.", compared_words(coverage),
                                     program.dp() > 1 ? ", on every rank of every replica" : "");
  for (const std::string& line : left_out_lines(program, coverage)) compared += "\n" + line;
  if (parity.agrees) {
    const bool exact = parity.worst_relative_error == 0;
    const std::string tensor =
        exact || parity.worst_tensor == kNoTensor ? "" : " in " + program.tensor(parity.worst_tensor).symbol;
    chip.text = exact ? fmt::format("equals serial exactly \u00B7 {}", count)
                      : fmt::format("equals serial \u00B7 {} \u00B7 {}{}", count, error, tensor);
    chip.short_text = exact ? "exactly serial" : "equals serial";
    chip.least_text = "= serial";
    chip.tooltip =
        "Every compared tensor agrees with the run on one rank, within its bound." + worst + compared;
    chip.colour = theme.agreement;
    chip.mark = Mark::Dot;
  } else {
    const std::string broken =
        parity.first_broken == kNoTensor ? "" : program.tensor(parity.first_broken).name;
    chip.text = fmt::format("differs from serial: {}", broken.empty() ? error : broken);
    chip.short_text = chip.least_text = "differs";
    chip.tooltip = (broken.empty() ? std::string("The run differs from the one on one rank.")
                                   : fmt::format("{} is the first tensor that breaks its bound{}.", broken,
                                                 broken_on(result, parity.first_broken))) +
                   worst + compared;
    chip.colour = theme.text;
    chip.mark = Mark::Cross;
  }
  return chip;
}

Chip break_chip(const Context& context, const SeenBreak& seen) {
  const Theme& theme = context.theme;
  const BreakProbe& probe = seen.probe();
  const bool sound = seen.side() == BreakSide::Sound;
  const std::string what = sound                              ? "the sound run"
                           : seen.side() == BreakSide::Broken ? "the broken run"
                                                              : "broken minus sound";
  const std::string from =
      probe.finds() ? seen.broken().tensor(probe.first_error().tensor).symbol : std::string();
  Chip chip{
      .text = "shown: " + what,
      .short_text = "shown: " + what,
      .least_text = side_word(seen.side()),
      .tooltip = fmt::format("Every panel shows {} of the planted mistake: {}.\nA click opens Break it. Esc "
                             "switches the mistake off, and the run of these settings is shown again.",
                             what, facts_of(seen.report().fault).title),
      .colour = sound ? theme.agreement : theme.text,
      .mark = sound ? Mark::Dot : Mark::Torn};
  if (sound || keeps_findings_back(context)) return chip;
  chip.text += from.empty() ? " \u00B7 nothing is wrong" : fmt::format(" \u00B7 wrong from {} on", from);
  return chip;
}

Chip communicator_chip(const Snapshot& snapshot, const Theme& theme) {
  if (!snapshot.result || snapshot.result->communicator.name.empty()) {
    return {.text = "no ranks yet",
            .short_text = "no ranks",
            .least_text = "no ranks",
            .tooltip = "The communicator and the reason for it appear with the first run.",
            .colour = theme.dim,
            .mark = Mark::Ring};
  }
  const CommunicatorInfo& info = snapshot.result->communicator;
  std::string tooltip = fmt::format("The collectives {} on the communicator \"{}\": {}.",
                                    snapshot.result->replayed ? "ran" : "run", info.name, info.reason);
  if (!snapshot.result->machine.empty()) tooltip += "\n" + snapshot.result->machine;
  tooltip += fmt::format("\n{}", glossary_text("communicator"));
  return {.text = fmt::format("{}: {}", info.name, info.reason),
          .short_text = info.name,
          .least_text = info.name,
          .tooltip = tooltip,
          .colour = theme.forward,
          .mark = Mark::Dot};
}

Chip provenance_chip(const Snapshot& snapshot, const Theme& theme) {
  const auto chip = [](const std::string& text, const std::string& tooltip, ImU32 colour, Mark mark) {
    // The part before the first colon or comma, for less room: "measured", "running on one rank".
    const std::string brief = text.substr(0, text.find_first_of(":,"));
    return Chip{text, brief, brief, tooltip, colour, mark};
  };
  switch (snapshot.state) {
    case RunState::Refused:
      if (snapshot.only_planned())
        return chip("planned, not run", as_sentence(snapshot.message), theme.dim, Mark::Ring);
      return chip("not possible", as_sentence(snapshot.message), theme.text, Mark::Cross);
    case RunState::Failed:
      return chip("failed", as_sentence(snapshot.message), theme.text, Mark::Cross);
    case RunState::Cancelled:
      return chip("cancelled", as_sentence(snapshot.message), theme.dim, Mark::Ring);
    default:
      break;
  }
  if (snapshot.stale()) return chip("out of date", notice(snapshot), theme.dim, Mark::Ring);
  if (!snapshot.activity.empty()) {
    return chip(snapshot.activity, "The numbers on the screen are right. This work is still going on.",
                theme.forward, Mark::Ring);
  }
  if (!snapshot.result) {
    return chip("estimated", "Nothing has run yet: all numbers come from the plan.", theme.dim, Mark::Ring);
  }
  if (!snapshot.result->timed && !snapshot.result->replayed && snapshot.state == RunState::Paused) {
    return chip(fmt::format("paused, {} of {} steps done", snapshot.position,
                            snapshot.plan ? snapshot.plan->program.steps.size() : 0),
                "Press Run to go on to the end. Times appear after a whole run.", theme.text, Mark::Ring);
  }
  if (!snapshot.result->timed && !snapshot.result->replayed) {
    return chip("not timed", "The steps ran one by one. Times appear after a whole run.", theme.dim,
                Mark::Ring);
  }
  if (snapshot.result->replayed) {
    return Chip{snapshot.result->provenance,
                snapshot.result->how(),
                snapshot.result->how(),
                fmt::format("Times, values and memory {} recorded on {}. None of them was measured here.",
                            snapshot.result->live ? "are just being" : "were", snapshot.result->machine),
                theme.agreement,
                Mark::Dot};
  }
  const std::string where = snapshot.result->machine.empty() ? "" : " on " + snapshot.result->machine;
  return chip(snapshot.result->provenance,
              fmt::format("Times, values and memory are {}{}.", snapshot.result->provenance, where),
              theme.agreement, Mark::Dot);
}

Chip late_chip(const Settings& wanted, const Theme& theme) {
  std::string tooltip = "Late on purpose: ";
  for (const Delay& delay : wanted.delays)
    tooltip += (&delay == &wanted.delays.front() ? "" : "; ") + delay_words(delay, wanted);
  const bool one = wanted.delays.size() == 1;
  const char* how = one && is_loss(wanted.delays[0], wanted) ? "lost" : "late";
  return {.text = delays_clause(wanted),
          .short_text = one ? fmt::format("rank {} {}", wanted.delays[0].rank, how) : how,
          .least_text = how,
          .tooltip = tooltip + ". Click to remove every delay.",
          .colour = theme.communication,
          .mark = Mark::Cross};
}

Chip pace_chip(float walk_speed, const Theme& theme) {
  const std::string speed = walk_speed_text(walk_speed);
  return {.text = "Play " + speed,
          .short_text = speed,
          .least_text = speed,
          .tooltip = fmt::format(
              "Play ({}) goes from step to step at {} the usual speed. {} is slower, {} faster. A "
              "click sets the usual speed.",
              key_text(find_command("run.play").keys.front()), speed,
              key_text(find_command("play.slower").keys.front()),
              key_text(find_command("play.faster").keys.front())),
          .colour = theme.forward,
          .mark = Mark::Dot};
}

Chip record_chip(const RecordingState& runs, const RecordingState& steps, const Theme& theme) {
  const bool on = runs.on || steps.on;
  const int64_t passes = runs.passes + steps.passes, dropped = runs.dropped_passes + steps.dropped_passes;
  const int64_t pictures = runs.dropped_pictures + steps.dropped_pictures;
  std::string files;
  for (const auto& [state, what] : {std::pair{&runs, "Runs"}, std::pair{&steps, "Training steps"}}) {
    if (!state->path.empty()) files += fmt::format("\n{}: {}", what, state->path);
    if (state->files > 1) files += fmt::format(", and {} files before it", state->files - 1);
    if (!state->problem.empty()) files += fmt::format("\n{}", state->problem);
  }
  Chip chip{.text = "Record",
            .short_text = "Record",
            .least_text = "",
            .tooltip = "Write every run and every training step into a file, to be replayed anywhere.",
            .colour = theme.recording,
            .mark = Mark::Ring};
  if (!on && !files.empty()) chip.tooltip += "\n\nLast recording:" + files;
  if (!on) return chip;
  const std::string bytes = bytes_text(static_cast<double>(runs.bytes + steps.bytes));
  const std::string count = counted(passes, "pass", "passes");
  chip.text =
      fmt::format("recording \u00B7 {} \u00B7 {} \u00B7 dropped {}", count, bytes, dropped + pictures);
  chip.short_text = fmt::format("{} \u00B7 {}", count, bytes);
  chip.least_text = grouped_text(passes);
  chip.mark = runs.problem.empty() && steps.problem.empty() ? Mark::Dot : Mark::Cross;
  chip.tooltip = fmt::format(
      "Recording: {} and {} in the file so far; {} and {} dropped. Each whole run and each training step is "
      "one pass. Click to stop.{}",
      count, bytes, counted(dropped, "pass", "passes"), counted(pictures, "picture"),
      files.empty() ? "\nNothing has run since the start. Run writes the first pass." : files);
  return chip;
}

}  // namespace shardlens::ui
