// The state of the Compare tab. Its page of recordings has a state of its own: see diff_view.h.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "engine/runtime/session/comparison.h"
#include "ui/widgets/sort_order.h"

namespace shardlens::ui {

enum class ComparePage { Splits, Tournament, Sweep, Recordings };

inline constexpr const char* kOwnSplit = "this one";  ///< of CompareView::splits: the split of the settings

struct CompareView {
  ComparePage page = ComparePage::Splits;
  std::array<std::string, 3> splits{"megatron", "reversed", ""};  ///< named, or kOwnSplit; empty: no column
  std::string row;          ///< the row that is followed through all splits: compare_rows.h's key
  std::string scrolled_to;  ///< the row that was last brought into view
  Split followed_split;     ///< the split of the settings, as last seen
  StepId followed = -1;     ///< the selected step that row was taken from
  std::string followed_key;
  std::string hardware;   ///< the tournament's; empty: this machine if it is calibrated, else an H100
  int ranks = 0;          ///< T x D of the tournament; 0: the settings' own
  int limit_divisor = 1;  ///< a rank may use this part of its memory
  std::optional<comparison_command::PlanSplits> asked;  ///< what was last asked for
  std::optional<TournamentWish> asked_tournament;
  SortOrder order;  ///< of the tournament's entrants
};

}  // namespace shardlens::ui
