// What the studio may show of an open recording, as immutable data, and the commands for it. `shown` is a
// usual Snapshot of the pass that is shown, so panels draw it like a run. A recording that a run still writes
// is live: it grows, and what is shown may follow its end.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "engine/record/live_link.h"
#include "engine/record/recording.h"
#include "engine/runtime/snapshot.h"

namespace shardlens {

/// The facts about an open recording. When it grows, new facts replace the old ones, with the same plan.
struct RecordingFacts {
  std::string path;
  std::string verb;     ///< the command that was run: "step", "train"
  std::string machine;  ///< "AMD EPYC, 2 cores": where it was recorded
  CommunicatorInfo communicator;
  double started_unix_seconds = 0;
  bool finished = false;  ///< false: the run was killed, or still records
  std::string failure;    ///< what ended the run before it was done
  int64_t file_bytes = 0;
  int64_t passes = 0;
  int64_t dropped_passes = 0;  ///< passes that ran but are not in the file; `problem` gives the reason
  std::string problem;
  double seconds = 0;                ///< from the beginning of the recording to the end of its last pass
  std::shared_ptr<const Plan> plan;  ///< of the recorded Program
};

/// True if both are facts of the same opened recording, or both are null.
inline bool same_recording(const RecordingFacts* a, const RecordingFacts* b) {
  return (a ? a->plan : nullptr) == (b ? b->plan : nullptr);
}

/// The metrics of all passes, in columns. For a very long recording only every `stride`-th pass.
struct MetricTable {
  int64_t stride = 1;
  bool complete = false;  ///< false: still being read
  std::vector<std::string> names;
  std::vector<std::vector<double>> values;  ///< [name][i], of pass i · stride; NaN where there is none

  size_t rows() const { return values.empty() ? 0 : values.front().size(); }
  /// Null if there is no such metric.
  const std::vector<double>* column(const std::string& name) const;
};

/// A note, and if the file has it: a note that cannot be written is kept until the recording is closed.
struct ReplayNote {
  Note note;
  int64_t pass = 0;  ///< the pass it is about
  bool saved = true;
};

/// The recordings in a folder, to choose from.
struct RecordingList {
  struct Entry {
    std::string name;  ///< without the folder
    bool is_folder = false;
    int64_t bytes = 0;
  };
  std::string folder;  ///< absolute
  std::vector<Entry> entries;
  std::string problem;               ///< why there are none
  std::vector<std::string> running;  ///< paths of recordings that are being written on this machine
};

struct ReplaySnapshot {
  uint64_t version = 0;
  std::shared_ptr<const RecordingFacts> recording;  ///< null: none is open
  /// The pass that is shown; its position is the one at `seconds`. Null: no recording is open. It has no
  /// result if the recording holds no pass.
  std::shared_ptr<const Snapshot> shown;
  /// [tensor]: true if its samples were read, if any are recorded. Null: no recording is open.
  std::shared_ptr<const std::vector<bool>> looked_at;
  int64_t pass = 0;
  double pass_begin_seconds = 0;  ///< of `pass`, from the beginning of the recording
  double seconds = 0;             ///< the position, from the beginning of the recording
  bool playing = false;
  uint64_t played = 0;                     ///< counts the moves of playing, so that each is seen
  double speed = 1;                        ///< recorded seconds for each second of playing
  WriterState writer = WriterState::Gone;  ///< of the run that writes it; Gone: it no longer grows
  double committed_seconds = 0;            ///< live: when it last grew, on the clock of now_seconds()
  bool follows = false;                    ///< live: the newest pass is always shown
  std::shared_ptr<const std::vector<ReplayNote>>
      notes;                                   ///< in the order of their moments; null: none is open
  std::shared_ptr<const MetricTable> metrics;  ///< null: none is open
  std::string message;                         ///< why a file was refused or a note not saved
  uint64_t messages = 0;                       ///< counts the messages, so that a repeated message is seen
  /// Counts the messages that say why something cannot be shown: a file that was refused, a pass that cannot
  /// be read. What was asked for then never comes, so nobody should wait for it.
  uint64_t failures = 0;
  std::shared_ptr<const RecordingList> list;   ///< null until asked for

  bool is_open() const { return recording != nullptr; }
  /// If true, a null sample means that none is recorded, not that it has not been read yet.
  bool has_read(TensorId tensor) const {
    return looked_at != nullptr && static_cast<size_t>(tensor) < looked_at->size() &&
           (*looked_at)[static_cast<size_t>(tensor)];
  }
  bool is_live() const { return writer != WriterState::Gone; }
};

namespace replay_command {
struct Open {
  std::string path;
};  ///< a file's, or "gallery:NAME" for one that came with the studio; one that is refused leaves what is
    ///< open as it was
struct Close {};
struct ShowPass {
  int64_t pass = 0;
};  ///< the whole pass; numbers out of range are clamped
struct Seek {
  double seconds = 0;
};  ///< from the beginning of the recording
struct ShowStep {
  size_t position = 0;
};  ///< within the pass shown: the position after its first `position` steps
struct Look {
  std::vector<TensorId> tensors;
};  ///< reads the samples of these tensors only
struct Play {
  double speed = 1;
};  ///< recorded seconds for each second; a pass shown as a whole plays from its beginning; at the end, from
    ///< the first pass
struct Pause {};
struct Follow {
  bool on = true;
};  ///< live: shows the newest pass, and every newer one; any command that moves ends it
struct AddNote {
  Note note;
};  ///< the file gives its id; for a live recording the note is kept here until the run has ended
struct EditNote {
  int64_t id = 0;
  std::string text;
};
struct RemoveNote {
  int64_t id = 0;
};
struct List {
  std::string folder = {};  ///< empty: the folder in which the program was started
  std::string otherwise =
      {};  ///< listed instead where `folder` has no recording and this one has; empty: no other
};
}  // namespace replay_command

using ReplayCommand =
    std::variant<replay_command::Open, replay_command::Close, replay_command::ShowPass, replay_command::Seek,
                 replay_command::ShowStep, replay_command::Look, replay_command::Play, replay_command::Pause,
                 replay_command::Follow, replay_command::AddNote, replay_command::EditNote,
                 replay_command::RemoveNote, replay_command::List>;

}  // namespace shardlens
