// The studio's room for two recordings side by side: one thread that reads both, or runs what one of them
// holds again here, and publishes DiffSnapshots. Nothing here waits for the caller and the caller never waits
// for it.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "engine/record/diff.h"

namespace shardlens {

/// What is told of one of the two runs.
struct ComparedRun {
  std::string path;  ///< as it was asked for; empty: it was run here
  std::string file;  ///< that it was read from; empty: it is gone
  std::string verb, machine, communicator;
  bool finished = false;  ///< false: the run was killed, or still records
  std::shared_ptr<const Program> program;
};

/// A metric over the passes of both, as few points. x: A's number of the pass, from 0.
struct ComparedCurve {
  struct Point {
    double pass = 0, value = 0;  ///< NaN where the value was not finite
  };
  std::string name;
  std::vector<Point> a, b;
};

struct ComparedRuns {
  ComparedRun a, b;
  RecordingDiff diff;
  std::vector<ComparedCurve> curves;  ///< of metrics that both have and that are values; "loss" first
};

/// Two runs to compare. A path, or "gallery:NAME"; `b` empty: A's settings, run here.
struct DiffWish {
  std::string a, b;
  bool operator==(const DiffWish&) const = default;
};

struct DiffSnapshot {
  uint64_t version = 0;
  DiffWish wish;                                 ///< what was asked for last; both empty: nothing
  std::shared_ptr<const ComparedRuns> compared;  ///< null: not done yet, or refused
  bool busy = false;
  bool running = false;  ///< ranks compute for it
  std::string activity;  ///< "running A's settings here"; empty at rest
  std::string message;   ///< why there is no comparison; names the file and what would work
};

namespace diff_command {
struct Compare {
  DiffWish wish;
};
struct Stop {};   ///< gives up what is compared or run
struct Clear {};  ///< forgets it too
}  // namespace diff_command

using DiffCommand = std::variant<diff_command::Compare, diff_command::Stop, diff_command::Clear>;

class DiffSession {
 public:
  DiffSession();
  ~DiffSession();  ///< gives up what is compared and joins
  DiffSession(const DiffSession&) = delete;
  DiffSession& operator=(const DiffSession&) = delete;

  void send(DiffCommand command);                        ///< returns at once; any thread
  std::shared_ptr<const DiffSnapshot> snapshot() const;  ///< the newest; never null; any thread
  /// Blocks until nothing is queued or compared; for tests and pictures without a window. Returns the newest
  /// snapshot also when `timeout_seconds` have passed.
  std::shared_ptr<const DiffSnapshot> wait_until_idle(double timeout_seconds) const;

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

}  // namespace shardlens
