// By which column a table is sorted.
#pragma once

namespace shardlens::ui {

struct SortOrder {
  int column = -1;  ///< -1: as the rows come
  bool descending = false;

  bool operator==(const SortOrder&) const = default;

  /// After another click on `wanted`: first its natural direction, then the other one, then none.
  SortOrder clicked(int wanted, bool descends_first) const {
    if (column != wanted) return {wanted, descends_first};
    if (descending == descends_first) return {wanted, !descends_first};
    return {};
  }
};

}  // namespace shardlens::ui
