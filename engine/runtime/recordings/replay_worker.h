// The Replay's worker: its turns, the open recording, and the clock of playing. Private to the replay's
// files.
//
// Protocol. Commands come from the mailbox. Between them the worker reads the rest of the metrics, a part at
// a time; while it plays it moves on by the clock; and it reads what a live recording has grown by. Only the
// pass shown is in memory; the next one replaces it. If a recording is refused, at any step of opening it,
// everything stays unchanged.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/runtime/mailbox.h"
#include "engine/runtime/recordings/replay.h"

namespace shardlens {

inline constexpr int64_t kMostMetricRows = 1 << 16;

class Replay::Worker {
 public:
  Worker() {
    publish();
    mail_.start("a replay", [this] { return turn(); });
  }
  ~Worker() {
    mail_.close();
    mail_.join();
  }

  /// Of several moves that wait in a row only the last counts.
  void send(ReplayCommand command) {
    const auto moves = [](const ReplayCommand& wish) {
      return std::holds_alternative<replay_command::Seek>(wish) ||
             std::holds_alternative<replay_command::ShowPass>(wish);
    };
    const bool is_move = moves(command);
    mail_.send(std::move(command), [&](auto& queue) {
      if (is_move && !queue.empty() && moves(queue.back())) queue.pop_back();
    });
  }

  const Mailbox<ReplayCommand, ReplaySnapshot>& mail() const { return mail_; }

 private:
  /// The pass that is shown.
  struct Shown {
    int64_t pass = 0;
    PassTime time;
    std::shared_ptr<const Result> result;  ///< null: the recording holds no pass
    std::vector<double> done;              ///< [step], from the beginning of the pass
    LatestSamples samples;                 ///< those in the result
  };

  NextTurn turn();
  void handle(const ReplayCommand& command);
  void open(const std::string& path_or_piece);
  void close();
  void publish();
  void say(const std::string& message);
  void fail(const std::string& message);

  Shown read_pass(const Recording& recording, const std::shared_ptr<const Plan>& plan, int64_t pass,
                  const std::vector<BytesByKind>& high_water_bytes, bool live) const;
  static void read_samples(const Recording& recording, const std::vector<bool>& wanted,
                           const LatestSamples& known, Shown& shown);
  void look_at(const std::vector<TensorId>& tensors);
  int64_t pass_at(const Recording& recording, int64_t passes, double seconds) const;
  void show_pass(int64_t pass);
  void stand_at(double seconds);
  void stand_after(size_t position);
  void advance();

  void read_metrics();
  void thin_metrics();
  bool has_metrics_left() const { return recording_ != nullptr && !metrics_.complete; }
  void write_note(const ReplayCommand& command);
  std::string save_notes();

  NextTurn end_turn();
  void look_at_writer();
  void take_in();
  void settle();
  void publish_notes();

  Mailbox<ReplayCommand, ReplaySnapshot> mail_;

  // only the worker uses these
  ReplaySnapshot now_;
  std::unique_ptr<Recording> recording_;
  Shown shown_;
  size_t position_ = 0;
  bool whole_ = false;  ///< the pass was asked for as a whole: playing starts at its beginning
  std::vector<ReplayNote> notes_;
  int64_t next_unsaved_ = -1;  ///< ids of notes that the file does not have
  MetricTable metrics_;
  int64_t metric_rows_ = 0;                        ///< rows that were read
  std::vector<BytesByKind> high_water_bytes_;      ///< [rank, replica by replica]
  double looked_seconds_ = 0, taken_seconds_ = 0;  ///< when the writer was last checked, and when what it
                                                   ///< wrote was last read
  uint64_t taken_generation_ = 0;
  std::chrono::steady_clock::time_point played_at_;
  double played_from_seconds_ = 0;
};

/// The Plan of the recorded Program, with arenas as large as in the recording. If this program has no preset
/// for the hardware of the prices, it uses this machine.
std::shared_ptr<const Plan> plan_of(const RecordingHeader& header);
/// The recordings in a folder; empty: the folder in which the program was started.
RecordingList list_of(const std::string& wanted);

}  // namespace shardlens
