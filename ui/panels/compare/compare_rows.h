// Aligns the rows of several Programs. A step that several of them have is on one line; the others have a gap
// there. That makes two splits readable side by side: the gaps and the bands are what differs.
#pragma once

#include <string>
#include <vector>

#include "ui/stage/rows.h"

namespace shardlens::ui {

/// Identifies a row independently of the split: its phase, and what it computes or converts.
std::string key_of(const Program& program, const stage::Row& row);
std::string key_of(const Step& step);

struct AlignedRow {
  std::string key;
  std::vector<int> rows;  ///< [program]: its row of that key; -1: it has none here
};

/// Returns every row of every program once, and keeps the order of each program. As many rows as possible are
/// shared (longest common subsequence, program by program). `keys`: [program][row].
std::vector<AlignedRow> aligned(const std::vector<std::vector<std::string>>& keys);

}  // namespace shardlens::ui
