// The name of a table's column, which sorts the table when it is clicked.
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

/// Draws it at `at`, its left or right top corner, `room` wide at most; an arrow says that it is the order.
/// Its id is "sort <words>". True when `order` changed.
bool sort_head(const Context& context, const SortColumn& column, ImVec2 at, float room, SortOrder& order);
float sort_head_height(const Context& context);

}  // namespace shardlens::ui
