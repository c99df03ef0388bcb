// What of the selected step is opened on the Stage: its matrices, the making of one number, or its
// derivation.
#pragma once

#include <cstdint>
#include <string>

#include "engine/program/product.h"
#include "ui/context.h"

namespace shardlens::ui {

struct ProductView {
  bool open = false;               ///< the selected step fills the Stage
  bool number = false;             ///< one number of it; else its matrices
  bool derivation = false;         ///< its derivation, in place of both
  int64_t row = 0, col = 0;        ///< of that number, in the full result
  bool recut = false;              ///< the same number under another cut than the run's
  SumCut cut = SumCut::None;       ///< if `recut`
  bool bend_page = false;          ///< where there is no room for both: GeLU's panel
  int64_t head = 0, sequence = 0;  ///< of an opened attention

  bool operator==(const ProductView&) const = default;
};

/// True if an opened step fills the window, in place of the side panels.
inline bool fills_window(const ViewState& view) {
  return view.tab == Tab::Stage && view.of<ProductView>().open;
}

/// True if the selected step can be opened: a product, or attention.
bool can_open_row(const Context& context);
/// True if it has numbers to open: it is a product.
bool can_open_number(const Context& context);
/// True if a step is selected, so that it can be derived.
bool can_derive(const Context& context);
/// True if the Stage shows the selected step opened.
bool shows_open_row(const Context& context);

/// Opens the selected step's matrices on the Stage, or closes them.
void open_or_close_row(const Context& context);
/// Opens the selected step's derivation on the Stage, or closes it.
void open_or_close_derivation(const Context& context);
/// Opens one number of the selected step, a product.
void open_number(const Context& context, int64_t row, int64_t col);
/// The number with the largest magnitude that is known of the selected step's result.
void open_largest_number(const Context& context);
/// From a number to the matrices, from the matrices or the derivation to the Stage.
void leave_row(const Context& context);
/// Goes to the neighbour of the shown number.
void move_number(const Context& context, int64_t rows, int64_t cols);

/// "step 12 (0–37) · arrow keys go from cell to cell, Esc goes back": the hint beside the tabs.
std::string where_in_open_row(const Context& context);

/// Handles the arrow keys and Escape while a step is opened. Returns true if it took a key.
bool take_keys_to_row(const Context& context);

/// Draws the opened step into the Stage's window.
void draw_open_row(const Context& context);

}  // namespace shardlens::ui
