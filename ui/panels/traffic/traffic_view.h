// The state of the Traffic tab: which page it shows.
#pragma once

namespace shardlens::ui {

struct TrafficView {
  bool times = false;  ///< the second page: every step's time, predicted and measured
};

}  // namespace shardlens::ui
