// Restores the view and the layout at the start, and saves them while the studio is open.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "ui/frame/layout.h"
#include "ui/remember/start_attempt.h"
#include "ui/remember/state_file.h"

namespace shardlens::ui {

class RememberedView {
 public:
  /// `path`: the state file; empty: nothing is restored or saved.
  explicit RememberedView(std::filesystem::path path);

  /// Returns a sentence about what was wrong with the file; empty if nothing was. Call it before the first
  /// frame. If the last start died while it put this file's state in place, takes only the records of the
  /// lessons and recordings from it; if that start died too, nothing.
  std::string restore(ViewState& view, DockTree& layout);
  /// Writes the file if anything changed since it was last written. Returns a sentence about why that is not
  /// possible, the first time only; empty otherwise.
  std::string save(const ViewState& view, const DockTree& layout);
  /// The same, at most once every few seconds. Call it once per frame.
  std::string save_now_and_then(const ViewState& view, const DockTree& layout);

 private:
  std::filesystem::path path_;
  RememberedState state_;                ///< what was read from the file, or last written there
  std::optional<StartAttempt> attempt_;  ///< until the state was shown
  int frames_ = 0;                       ///< of those that show it
  bool repairs_ =
      false;  ///< some values of the file are wrong: it is written soon, or the next start says so again
  bool replaces_ = false;  ///< the file's state is not put in place again: it is kept aside and replaced
  bool told_ = false;      ///< it cannot be written
  std::chrono::steady_clock::time_point saved_;
};

}  // namespace shardlens::ui
