// What is shown of a run or a training that lost a rank.
#pragma once

namespace shardlens::ui {

struct FaultView {
  bool run_details = false, training_details = false;  ///< the whole message
  bool training_closed = false;                        ///< its strip, until another training begins
};

}  // namespace shardlens::ui
