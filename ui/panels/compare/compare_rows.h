// The rows of several Programs brought to one height: what is the same step in all of them stands in one
// line, and what only some have leaves a gap in the others. That is how two splits are read side by side: the
// gaps and the bands are what differs.
#pragma once

#include <string>
#include <vector>

#include "ui/stage/rows.h"

namespace shardlens::ui {

/// What a row is, whatever the split: the phase and what is computed, or what is converted.
std::string key_of(const Program& program, const stage::Row& row);
std::string key_of(const Step& step);

struct AlignedRow {
  std::string key;
  std::vector<int> rows;  ///< [program]: its row of that key; -1: it has none here
};

/// Every row of every program once, in an order that keeps each program's own; as many as possible are
/// shared (longest common subsequence, program by program). `keys`: [program][row].
std::vector<AlignedRow> aligned(const std::vector<std::vector<std::string>>& keys);

}  // namespace shardlens::ui
