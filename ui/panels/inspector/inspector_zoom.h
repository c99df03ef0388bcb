// The window that every pane of the Inspector shows: the same rows and columns of the full tensor for each
// rank, for the joined pieces and for the difference. Its values are read for any size of tensor.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/runtime/tensor_window.h"
#include "ui/context.h"

namespace shardlens::ui {

struct Subject;  // inspector.h

/// The values of a window as pictures; `values` stay beside them for the numbers.
struct WindowPictures {
  std::shared_ptr<const WindowValues> values;
  std::vector<Picture> ranks;
  std::vector<double> joined, difference;  ///< row-major; `difference` is empty without the serial run
  Picture joined_picture, difference_picture;
  double largest_difference = 0;
};

struct Zoom {
  bool all = true;                             ///< every pane shows its whole piece
  Range rows, cols;                            ///< of the full tensor
  std::shared_ptr<const WindowPictures> near;  ///< null: the window is too large, or not read yet
  std::string missing;  ///< why its values are not known; empty: they are, or it is large
};

/// Returns the zoom of this frame and asks for the values it shows.
Zoom zoom_of(const Context& context, const Subject& subject);

inline constexpr int kJoinedPane = -1, kDifferencePane = -2;  ///< panes that are no rank's

/// The mouse over a pane: the wheel zooms about it, a drag pans, a double click shows all, a click on a
/// number of a product opens it. Returns true for any other click. `pane`: a rank, or one of the two above.
bool handle_pane(const Context& context, const Subject& subject, int pane, ImVec2 min, ImVec2 max,
                 const char* id);

/// Draws the window into a pane: values, numbers where they fit, and in words what a rank does not hold.
void draw_zoomed_pane(const Context& context, const Subject& subject, int pane, ImVec2 min, ImVec2 max,
                      ImDrawList* list);

/// Draws the numbers of a piece that is shown whole, if they fit.
void draw_whole_numbers(const Context& context, const Subject& subject, const TensorSample& sample,
                        ImVec2 min, ImVec2 max, ImDrawList* list);

}  // namespace shardlens::ui
