// The worker behind the timeline of a recording: one thread with its own database connection, which answers
// what the timeline shows and searches for. It never waits for the caller and the caller never waits for it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "engine/record/history.h"

namespace shardlens {

struct HistorySnapshot {
  std::string path;  ///< of the recording; empty: none is open
  int64_t end_ns = 0;
  int64_t passes = 0;
  bool live = false;  ///< a run still writes it
  int ranks = 0;      ///< of all replicas; track r is always the one of world rank r, numbered replica by
                      ///< replica
  double built = 0;   ///< the finished share of the overview; it is shown when it is 1
  std::shared_ptr<const HistorySlice> whole;  ///< the whole recording, in coarse form; null: not built yet
  std::shared_ptr<const HistorySlice> slice;  ///< the answer to the newest Look; null: none
  uint64_t slice_number = 0;                  ///< the number of that Look
  std::optional<HistoryPlace> found;          ///< the answer to the newest Find; none: not found
  uint64_t found_number = 0;                  ///< the number of that Find
  std::string message;                        ///< why it cannot be shown; empty: it can

  bool is_open() const { return !path.empty(); }
  bool is_busy() const { return is_open() && built < 1 && message.empty() && !waits(); }
  /// True if a run writes it that has committed no pass yet.
  bool waits() const { return live && passes == 0; }
};

namespace history_command {
struct Open {
  std::string path;
  std::shared_ptr<const Program> program;  ///< the recording's
};
struct Close {};
struct Look {
  uint64_t number = 0;  ///< a number that was not used before
  int64_t begin_ns = 0, end_ns = 0;
  int64_t bucket_ns = 0;  ///< see History::slice()
};                        ///< replaces a Look that still waits
struct Find {
  uint64_t number = 0;
  HistoryQuestion question;
};
}  // namespace history_command

using HistoryCommand =
    std::variant<history_command::Open, history_command::Close, history_command::Look, history_command::Find>;

class HistoryReader {
 public:
  HistoryReader();
  ~HistoryReader();
  HistoryReader(const HistoryReader&) = delete;
  HistoryReader& operator=(const HistoryReader&) = delete;

  void send(HistoryCommand command);                        ///< returns at once; any thread
  std::shared_ptr<const HistorySnapshot> snapshot() const;  ///< the newest; never null; any thread
  /// Blocks until nothing is queued, built or read, or until `timeout_seconds` have passed. Returns the
  /// newest snapshot in both cases.
  std::shared_ptr<const HistorySnapshot> wait_until_idle(double timeout_seconds) const;

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

}  // namespace shardlens
