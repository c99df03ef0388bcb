// A matrix stored in panels: the first `panel_cols` columns of all rows, row by row, then the next ones. A
// product of one row and the matrix then reads memory in order, and keeps the sums of a panel's columns in
// registers. Weights that are read for every token, and only by products, are stored in this way.
#pragma once

#include <cstdint>

#include "engine/program/layout.h"

namespace shardlens {

/// The panels of a [rows, cols] matrix. The last panel is narrower if columns are left over. The matrix is
/// row-major if panel_cols is 0.
struct Panels {
  int64_t rows = 0, cols = 0;
  int64_t panel_cols = 0;

  explicit operator bool() const { return panel_cols > 0; }
};

/// Copies a row-major matrix into panels. The two do not overlap.
void into_panels(const Panels& panels, int64_t element_bytes, const void* matrix, void* in_panels);
/// Copies only the columns `cols` from panels into `matrix` [rows, cols.size()]. They begin and end at
/// panels' edges, or end with the matrix.
void out_of_panels(const Panels& panels, int64_t element_bytes, Range cols, const void* in_panels,
                   void* matrix);

}  // namespace shardlens
