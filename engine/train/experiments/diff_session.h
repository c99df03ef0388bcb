// The studio's thread that compares two recordings. It reads both, or runs the settings of one of them again
// here, and publishes DiffSnapshots. It never waits for the caller, and the caller never waits for it.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "engine/record/diff.h"

namespace shardlens {

/// Facts about one of the two runs.
struct ComparedRun {
  std::string path;  ///< as in the wish; empty: it was run here
  std::string file;  ///< the file that it was read from; empty: it no longer exists
  std::string verb, machine, communicator;
  bool finished = false;  ///< false: the run was killed, or still records
  std::shared_ptr<const Program> program;
};

/// A metric over the passes of both runs, reduced to a limited number of points. x: A's number of the pass,
/// from 0.
struct ComparedCurve {
  struct Point {
    double pass = 0, value = 0;  ///< NaN if the value was not finite
  };
  std::string name;
  std::vector<Point> a, b;
};

struct ComparedRuns {
  ComparedRun a, b;
  RecordingDiff diff;
  std::vector<ComparedCurve> curves;  ///< metrics that both have and that are values; "loss" first
};

/// Two runs to compare, each a path or "gallery:NAME". `b` empty: A's settings, run here.
struct DiffWish {
  std::string a, b;
  bool operator==(const DiffWish&) const = default;
};

struct DiffSnapshot {
  uint64_t version = 0;
  DiffWish wish;                                 ///< the last wish; both empty: none
  std::shared_ptr<const ComparedRuns> compared;  ///< null: not done yet, or refused
  bool busy = false;
  bool running = false;  ///< ranks are running for the comparison
  std::string activity;  ///< "running A's settings here"; empty when idle
  std::string message;   ///< why there is no comparison: the file, and what would work
};

namespace diff_command {
struct Compare {
  DiffWish wish;
};
struct Stop {};   ///< stops the comparison or the run
struct Clear {};  ///< also deletes its result
}  // namespace diff_command

using DiffCommand = std::variant<diff_command::Compare, diff_command::Stop, diff_command::Clear>;

class DiffSession {
 public:
  DiffSession();
  ~DiffSession();  ///< stops the comparison and joins the thread
  DiffSession(const DiffSession&) = delete;
  DiffSession& operator=(const DiffSession&) = delete;

  void send(DiffCommand command);                        ///< returns at once; any thread
  std::shared_ptr<const DiffSnapshot> snapshot() const;  ///< the newest; never null; any thread
  /// Blocks until no command waits and nothing is compared, or until `timeout_seconds` have passed. Returns
  /// the newest snapshot. For tests and for pictures without a window.
  std::shared_ptr<const DiffSnapshot> wait_until_idle(double timeout_seconds) const;

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

}  // namespace shardlens
