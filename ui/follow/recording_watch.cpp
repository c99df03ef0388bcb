// Writes the messages about recordings.
#include "ui/follow/recording_watch.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "engine/base/counted.h"
#include "engine/base/units.h"
#include "ui/remember/recent_recordings.h"

namespace shardlens::ui {
namespace {

std::string sentence(const std::string& words) {
  return !words.empty() && words.back() == '.' ? words : words + ".";
}

/// Returns the message for a recording that has ended: its files, and what is in them.
Said ended_recording(const BeingRecorded& recorded) {
  std::vector<std::string> files;
  for (const RecordingState* state : {&recorded.runs, &recorded.steps})
    if (!state->path.empty()) files.push_back(state->path);
  if (files.empty()) return {"Nothing was recorded because nothing ran. Start recording, then run or train."};
  const int64_t earlier = recorded.runs.files + recorded.steps.files - std::ssize(files);
  const std::string bytes = bytes_text(static_cast<double>(recorded.runs.bytes + recorded.steps.bytes));
  return {
      fmt::format(
          "Recorded: {}, {}{}.", counted(recorded.runs.passes + recorded.steps.passes, "pass", "passes"),
          bytes,
          earlier > 0 ? fmt::format(", and {} before it in the same folder", counted(earlier, "file")) : ""),
      files};
}

}  // namespace

void RecordingWatch::take(const RecordingState& runs, const RecordingState& steps, ViewState& view,
                          MessageCard& message) {
  bool went_wrong = false;
  using Change = std::pair<const RecordingState*, const RecordingState*>;
  for (const auto& [now, before] : {Change{&runs, &recorded_.runs}, Change{&steps, &recorded_.steps}}) {
    if (!now->problem.empty() && now->problem != before->problem) {
      message.say(fmt::format("{} The run goes on.", sentence(now->problem)));
      went_wrong = true;
    }
    const bool same_file = now->path == before->path;
    const RecordingState& last =
        same_file ? *now : *before;  // the last pass may be counted only at the close
    const bool begun = now->passes > 0 && !(same_file && before->passes > 0);
    const bool ended = before->on && !(now->on && same_file) && last.passes > 0;
    if (begun)
      add_recent(view.recent, now->path);  // already at its begin, because a killed studio never sees the end
    if (ended) add_recent(view.recent, last.path);
  }
  const bool was_on = recorded_.runs.on || recorded_.steps.on;
  recorded_ = {runs, steps};
  if (was_on && !runs.on && !steps.on && !went_wrong) message.say(ended_recording(recorded_));
}

}  // namespace shardlens::ui
