// The state of the Scaling tab, and the estimates that it has asked for.
#pragma once

#include <cstdint>
#include <string>

#include "engine/config/settings.h"

namespace shardlens::ui {

enum class ScalingPage { Weak, Strong, Heads, BreakEven, Cluster };

struct ScalingView {
  ScalingPage page = ScalingPage::Weak;
  std::string crossing = "a100-80gb";  ///< the machine of the break-even page
  bool this_run = false;               ///< with this run's layer instead of the paper's largest model's
  // The cluster: a model on T x D x P devices. Each replica's batch has `parts` parts of one sequence.
  std::string model = "gpt-1t";
  std::string cluster = "a100-80gb";
  int64_t tp = 8, pp = 64, dp = 6, parts = 512;

  bool operator==(const ScalingView&) const = default;
};

/// The last requests, so that each is sent once.
struct ScalingAsked {
  bool paper = false;
  Settings crossing, cluster;
  int stages = 0;
};

}  // namespace shardlens::ui
