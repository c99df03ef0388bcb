// Which page the Traffic tab shows.
#pragma once

namespace shardlens::ui {

struct TrafficView {
  bool times = false;  ///< the second page: every step's time, predicted and measured
};

}  // namespace shardlens::ui
