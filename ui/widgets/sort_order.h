// The column by which a table is sorted, and the direction.
#pragma once

namespace shardlens::ui {

struct SortOrder {
  int column = -1;  ///< -1: not sorted
  bool descending = false;

  bool operator==(const SortOrder&) const = default;

  /// Returns the order after a click on column `wanted`: first its natural direction, then the other, then
  /// none.
  SortOrder clicked(int wanted, bool descends_first) const {
    if (column != wanted) return {wanted, descends_first};
    if (descending == descends_first) return {wanted, !descends_first};
    return {};
  }
};

}  // namespace shardlens::ui
