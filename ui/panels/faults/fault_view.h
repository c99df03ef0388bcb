// The state of the strips of a run and of a training that lost a rank.
#pragma once

namespace shardlens::ui {

struct FaultView {
  bool run_details = false, training_details = false;  ///< the whole message is shown
  bool training_closed = false;  ///< the training's strip is closed until another training begins
};

}  // namespace shardlens::ui
