// The state of the list of recordings while one is being chosen, that is, while ViewState::chooser_open is
// true.
#pragma once

#include <string>

namespace shardlens::ui {

/// What the chosen recording is for. Model: a model's folder or weights are chosen instead.
enum class ChosenFor { Replay, Attach, CompareA, CompareB, Model };

struct ChooserView {
  ChosenFor chosen_for = ChosenFor::Replay;
  std::string path;           ///< typed
  int opened_frame = -2;      ///< the last frame in which it was open
  bool has_own = false;       ///< the folder of this studio's own recordings exists
  double listed_seconds = 0;  ///< when its folder was last listed: it is listed again
  std::string missing;        ///< a path that was entered and does not exist
  bool refused = false;       ///< the last entry was refused just now: the field keeps the keyboard
};

}  // namespace shardlens::ui
