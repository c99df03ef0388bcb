// The name of a table's column. A click on it sorts the table by that column.
#pragma once

#include "ui/context.h"
#include "ui/widgets/paint.h"
#include "ui/widgets/sort_order.h"

namespace shardlens::ui {

struct SortColumn {
  int column = 0;
  const char* words = "";
  Align align = Align::Left;
  bool descends_first = false;  ///< the first click puts the largest on top
  const char* help = nullptr;   ///< a tooltip
};

/// Draws the name with its left or right top corner at `at`, at most `room` wide. An arrow shows that the
/// table is sorted by this column. The item's id is "sort <words>". Returns true if `order` changed.
bool sort_head(const Context& context, const SortColumn& column, ImVec2 at, float room, SortOrder& order);
float sort_head_height(const Context& context);

}  // namespace shardlens::ui
