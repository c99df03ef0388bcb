// A matrix in panels: so many neighbouring columns of all rows, row by row, and behind them the next ones.
// The idea: whoever multiplies a row by it reads memory in order and yet keeps the sums of a panel's columns
// in registers. Weights that are read again for every token, and that nothing else reads, lie so.
#pragma once

#include <cstdint>

#include "engine/program/layout.h"

namespace shardlens {

/// Of a [rows, cols] matrix; what is left over of the columns is a narrower panel. Nothing of it is in
/// panels where panel_cols is 0.
struct Panels {
  int64_t rows = 0, cols = 0;
  int64_t panel_cols = 0;

  explicit operator bool() const { return panel_cols > 0; }
};

/// Between a row-major matrix and one in panels, which do not overlap.
void into_panels(const Panels& panels, int64_t element_bytes, const void* matrix, void* in_panels);
/// `matrix` gets the columns `cols` alone, [rows, cols.size()]: they begin and end where a panel does, or
/// where the matrix ends.
void out_of_panels(const Panels& panels, int64_t element_bytes, Range cols, const void* in_panels,
                   void* matrix);

}  // namespace shardlens
