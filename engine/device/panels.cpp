// Copies matrices into panels and out of them.
#include "engine/device/panels.h"

#include <algorithm>
#include <cstring>

namespace shardlens {
namespace {

// Calls body(element of the panels, row, column, columns) for each row of each panel of some columns.
template <class Body>
void for_panel_rows(const Panels& panels, Range cols, const Body& body) {
  for (int64_t col = cols.begin; col < cols.end; col += panels.panel_cols) {
    const int64_t width = std::min(panels.panel_cols, cols.end - col);
    for (int64_t row = 0; row < panels.rows; ++row)
      body(col * panels.rows + row * width, row, col - cols.begin, width);
  }
}

}  // namespace

void into_panels(const Panels& panels, int64_t element_bytes, const void* matrix, void* in_panels) {
  const char* const from = static_cast<const char*>(matrix);
  char* const to = static_cast<char*>(in_panels);
  for_panel_rows(panels, {0, panels.cols}, [&](int64_t at, int64_t row, int64_t col, int64_t width) {
    std::memcpy(to + at * element_bytes, from + (row * panels.cols + col) * element_bytes,
                static_cast<size_t>(width * element_bytes));
  });
}

void out_of_panels(const Panels& panels, int64_t element_bytes, Range cols, const void* in_panels,
                   void* matrix) {
  const char* const from = static_cast<const char*>(in_panels);
  char* const to = static_cast<char*>(matrix);
  for_panel_rows(panels, cols, [&](int64_t at, int64_t row, int64_t col, int64_t width) {
    std::memcpy(to + (row * cols.size() + col) * element_bytes, from + at * element_bytes,
                static_cast<size_t>(width * element_bytes));
  });
}

}  // namespace shardlens
