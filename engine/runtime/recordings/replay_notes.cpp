// A Replay's notes: kept in memory until the recording has them.
#include <fmt/format.h>

#include <algorithm>

#include "engine/io/file_problem.h"
#include "engine/runtime/recordings/replay_worker.h"

namespace shardlens {

// If the file cannot be written, no note is lost: it is kept in memory, and saving is tried again with the
// next note. While a run writes the file, notes wait for its end.
void Replay::Worker::write_note(const ReplayCommand& command) {
  const auto of = [this](int64_t id) {
    return std::ranges::find(notes_, id, [](const ReplayNote& kept) { return kept.note.id; });
  };
  if (const auto* wish = std::get_if<replay_command::AddNote>(&command)) {
    ReplayNote added{wish->note, pass_at(*recording_, now_.recording->passes, wish->note.seconds), false};
    added.note.id = next_unsaved_--;
    const auto after =
        std::upper_bound(notes_.begin(), notes_.end(), added.note.seconds,
                         [](double seconds, const auto& kept) { return seconds < kept.note.seconds; });
    notes_.insert(after, std::move(added));
  } else if (const auto* edit = std::get_if<replay_command::EditNote>(&command)) {
    const auto kept = of(edit->id);
    if (kept == notes_.end()) return;
    kept->note.text = edit->text;
    kept->saved = false;
  } else if (const auto* removal = std::get_if<replay_command::RemoveNote>(&command)) {
    const auto kept = of(removal->id);
    if (kept == notes_.end()) return;
    if (kept->note.id >= 0) recording_->remove_note(kept->note.id);
    notes_.erase(kept);
  }
  const std::string problem = now_.is_live() ? "" : save_notes();
  publish_notes();
  if (!problem.empty()) say(problem);
}

// Returns why some notes could not be saved; empty: the file has all of them.
std::string Replay::Worker::save_notes() {
  try {
    for (ReplayNote& kept : notes_) {
      if (kept.saved) continue;
      if (kept.note.id < 0)
        kept.note = recording_->add_note(kept.note);
      else
        recording_->edit_note(kept.note.id, kept.note.text);
      kept.saved = true;
    }
  } catch (const std::exception& error) {
    return fmt::format(
        "The note is not saved: {}. It is kept in memory until the recording is closed; Copy in the list of "
        "notes copies all of them.",
        message_of(error));
  }
  return {};
}

void Replay::Worker::publish_notes() {
  now_.notes = std::make_shared<const std::vector<ReplayNote>>(notes_);
  publish();
}

}  // namespace shardlens
