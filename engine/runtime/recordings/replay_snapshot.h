// What the studio may know of a recording that is open, as immutable data, and what it may ask for. A
// recording becomes Snapshots: `shown` is the usual one, of the pass that is looked at, so that panels draw
// it as they draw a run. One that a run still writes is live: it grows, and what is shown may follow its end.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "engine/record/live_link.h"
#include "engine/record/recording.h"
#include "engine/runtime/snapshot.h"

namespace shardlens {

/// What is known of a recording that is open. Of one that grows new facts take the place of the old ones,
/// with the same plan.
struct RecordingFacts {
  std::string path;
  std::string verb;     ///< what was run: "step", "train"
  std::string machine;  ///< "AMD EPYC, 2 cores": where it was recorded
  CommunicatorInfo communicator;
  double started_unix_seconds = 0;
  bool finished = false;  ///< false: the run was killed, or still records
  std::string failure;    ///< what ended it before it was done
  int64_t file_bytes = 0;
  int64_t passes = 0;
  int64_t dropped_passes = 0;  ///< that were run and are not in the file; `problem` says why
  std::string problem;
  double seconds = 0;                ///< from the beginning of the recording to the end of its last pass
  std::shared_ptr<const Plan> plan;  ///< of the recorded Program
};

/// Facts of one opened recording, or of none.
inline bool same_recording(const RecordingFacts* a, const RecordingFacts* b) {
  return (a ? a->plan : nullptr) == (b ? b->plan : nullptr);
}

/// The metrics of all passes, in columns. Of a very long recording every `stride`-th pass.
struct MetricTable {
  int64_t stride = 1;
  bool complete = false;  ///< false: still being read
  std::vector<std::string> names;
  std::vector<std::vector<double>> values;  ///< [name][i], of pass i · stride; NaN where there is none

  size_t rows() const { return values.empty() ? 0 : values.front().size(); }
  /// Null when there is no such metric.
  const std::vector<double>* column(const std::string& name) const;
};

/// A note, and whether the file has it: one that cannot be written is kept until the recording is closed.
struct ReplayNote {
  Note note;
  int64_t pass = 0;  ///< the pass it is about
  bool saved = true;
};

/// The recordings in a folder, for choosing one.
struct RecordingList {
  struct Entry {
    std::string name;  ///< without the folder
    bool is_folder = false;
    int64_t bytes = 0;
  };
  std::string folder;  ///< absolute
  std::vector<Entry> entries;
  std::string problem;               ///< why there are none
  std::vector<std::string> running;  ///< paths of those that are being written on this machine
};

struct ReplaySnapshot {
  uint64_t version = 0;
  std::shared_ptr<const RecordingFacts> recording;  ///< null: none is open
  /// The pass that is looked at; its position is that of `seconds`. Null: none is open. Without a result
  /// where the recording holds no pass.
  std::shared_ptr<const Snapshot> shown;
  /// [tensor] Whether its samples were read, if any are recorded. Null: none is open.
  std::shared_ptr<const std::vector<bool>> looked_at;
  int64_t pass = 0;
  double pass_begin_seconds = 0;  ///< of `pass`, from the beginning of the recording
  double seconds = 0;             ///< where it stands, from the beginning of the recording
  bool playing = false;
  double speed = 1;                        ///< recorded seconds a second
  WriterState writer = WriterState::Gone;  ///< of the run that writes it; Gone: it grows no more
  double committed_seconds = 0;            ///< live: when it last grew, by now_seconds()
  bool follows = false;                    ///< live: the newest pass is shown, whichever that is
  std::shared_ptr<const std::vector<ReplayNote>>
      notes;                                   ///< in the order of their moments; null: none is open
  std::shared_ptr<const MetricTable> metrics;  ///< null: none is open
  std::string message;                         ///< why a file was refused or a note not saved
  uint64_t messages = 0;                       ///< counts them, so that the same one twice is seen
  std::shared_ptr<const RecordingList> list;   ///< null until asked for

  bool is_open() const { return recording != nullptr; }
  /// Null of a sample means that there is none, not that it has not been read yet.
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
};  ///< the whole of it; numbers outside are moved inside
struct Seek {
  double seconds = 0;
};  ///< from the beginning of the recording
struct ShowStep {
  size_t position = 0;
};  ///< within the pass shown: after its first `position` steps
struct Look {
  std::vector<TensorId> tensors;
};  ///< the samples of these tensors are read, and of no others
struct Play {
  double speed = 1;
};  ///< recorded seconds a second; of a pass shown as a whole from its beginning, at the end from the first
struct Pause {};
struct Follow {
  bool on = true;
};  ///< of a live one: shows the newest pass, and every newer one; whatever moves elsewhere ends it
struct AddNote {
  Note note;
};  ///< its id is given by the file; of a live one it is kept here until the run has ended
struct EditNote {
  int64_t id = 0;
  std::string text;
};
struct RemoveNote {
  int64_t id = 0;
};
struct List {
  std::string folder = {};  ///< empty: where the program was started
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
