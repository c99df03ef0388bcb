// The state of the view inside a collective. It shows the selected step while that is a collective.
#pragma once

#include "engine/comm/route.h"

namespace shardlens::ui {

struct CollectiveView {
  bool open = false;
  Wiring wiring = Wiring::Ring;  ///< a tree only for an all-reduce
  /// 0: before the first hop. From 1 on: this hop is under way. One more than there are hops: all is done.
  int hop = 0;
  bool playing = false;
  float under_way = 0;  ///< of the hop, while it plays: from 0 to 1
  float hops_per_second = 1;
  bool price_first = false;  ///< in a low window: the price and the times take the place of the hops

  void stand_at(int wanted_hop) {
    hop = wanted_hop;
    under_way = 0;
  }
};

}  // namespace shardlens::ui
