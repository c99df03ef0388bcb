// Files that leave the page: what the studio writes for a person becomes a download, and what it remembers is
// kept by the browser.
#pragma once

#include <map>
#include <string>

#include "engine/record/recording_state.h"
#include "engine/train/train_snapshot.h"
#include "ui/studio.h"

namespace shardlens {

class BrowserFiles {
 public:
  /// Call it when the studio has put the remembered state in place.
  void begin();
  /// Call it after every frame.
  void follow(ui::Studio& studio);
  /// Keeps all at once: the page may be gone in a moment.
  void keep_now(ui::Studio& studio);

 private:
  void keep(bool saved);
  void hand_over_checkpoints(const TrainSnapshot& training);

  RecordingState runs_, steps_;                 ///< in the frame before
  std::map<std::string, std::string> kept_;     ///< the browser has: text by path
  std::map<std::string, int64_t> handed_over_;  ///< the step of the save that the person has, by folder
  double looked_seconds_ = 0;
};

}  // namespace shardlens
