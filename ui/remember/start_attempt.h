// Notices that a start has ended, without any order, while it put a state in place. The next start must not
// put the same state in place again: a state that ends the program would end every start.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "engine/io/signal_cleanup.h"

namespace shardlens::ui {

/// While a state is put in place, a file beside it says so: "PATH.starting". A start that goes well, or that
/// a person or a signal ends, removes it. One that is found is of a start that died.
class StartAttempt {
 public:
  /// Call it before the state at `path` is put in place. Another studio that is starting now counts as
  /// nothing. If the file cannot be written, nothing is noticed.
  explicit StartAttempt(const std::filesystem::path& path);
  ~StartAttempt() { went_well(); }
  StartAttempt(const StartAttempt&) = delete;
  StartAttempt& operator=(const StartAttempt&) = delete;

  /// How many starts have died, one after the other, with just the state that is in the file now.
  int died_before() const { return died_before_; }
  /// The state is in place, and was shown.
  void went_well();

 private:
  std::string marker_;
  int file_ = -1;
  int died_before_ = 0;
  std::optional<SignalCleanup> cleanup_;
};

}  // namespace shardlens::ui
