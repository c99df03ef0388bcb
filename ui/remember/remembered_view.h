// Restores the view and the layout at the start, and saves them while the studio is open.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "ui/frame/layout.h"
#include "ui/remember/state_file.h"

namespace shardlens::ui {

class RememberedView {
 public:
  /// `path`: the state file; empty: nothing is restored or saved.
  explicit RememberedView(std::filesystem::path path);

  /// Returns a sentence about what was wrong with the file; empty if nothing was. Call it before the first
  /// frame.
  std::string restore(ViewState& view, DockTree& layout);
  /// Writes the file if anything changed since it was last written. Returns a sentence about why that is not
  /// possible, the first time only; empty otherwise.
  std::string save(const ViewState& view, const DockTree& layout);
  /// The same, at most once every few seconds. Call it once per frame.
  std::string save_now_and_then(const ViewState& view, const DockTree& layout);

 private:
  std::filesystem::path path_;
  RememberedState state_;  ///< in the file
  bool told_ = false;      ///< it cannot be written
  std::chrono::steady_clock::time_point saved_;
};

}  // namespace shardlens::ui
