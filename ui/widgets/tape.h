// A list of drawn marks: rectangles, lines, words and pictures instead of triangles. If a Dear ImGui context
// has a tape, the functions of paint.h and the heatmaps note their marks on the tape instead of drawing. So
// the code that draws the window also makes figures for paper, and text stays text.
#pragma once

#include <imgui.h>

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "ui/platform/image.h"
#include "ui/widgets/paint.h"

namespace shardlens::ui {

namespace mark {
struct Fill {
  ImVec2 min, max;
  ImU32 colour = 0;
  float rounding = 0;
};
/// A line inside the rectangle's edge.
struct Outline {
  ImVec2 min, max;
  ImU32 colour = 0;
  float rounding = 0, thickness = 1;
};
struct Line {
  ImVec2 from, to;
  ImU32 colour = 0;
  float thickness = 1;
};
struct Triangle {
  ImVec2 a, b, c;
  ImU32 colour = 0;
};
/// One line of text, its top at `at.y`, its left, middle or right at `at.x`.
struct Words {
  ImVec2 at;
  TextStyle style;
  Align align = Align::Left;
  std::string text;
  bool upwards = false;  ///< turned to the left about the point in the middle of its left: as for a bar
};
/// A picture. Only the part inside the clip rectangle is visible.
struct Pixels {
  ImVec2 min, max;
  std::shared_ptr<const Image> image;
  float opacity = 1;
  bool smooth = false;  ///< false: its pixels are cells, so they must not be smoothed
};
}  // namespace mark

struct TapeMark {
  ImVec2 clip_min, clip_max;
  bool clipped = false;  ///< it extends beyond the clip rectangle
  std::variant<mark::Fill, mark::Outline, mark::Line, mark::Triangle, mark::Words, mark::Pixels> what;
};

class Tape {
 public:
  /// The tape of the current context, or null if drawing goes to the screen.
  static Tape* current() { return static_cast<Tape*>(ImGui::GetIO().UserData); }

  /// Notes a mark with the clip rectangle of `list`. A mark wholly outside that rectangle is left out.
  void note(const ImDrawList* list, decltype(TapeMark::what) what);
  /// Begins layers: join() sorts the marks noted since then by layer.
  void split();
  void choose(int layer);
  void join();
  void clear();
  /// Adds a mark that is not clipped.
  void put(decltype(TapeMark::what) what);
  /// Adds the marks of another tape, made `scale` times as large and then moved by `at`.
  void put(const Tape& other, ImVec2 at, float scale = 1);

  const std::vector<TapeMark>& marks() const { return marks_; }

 private:
  std::vector<TapeMark> marks_;
  std::vector<int> layers_;  ///< the layers of the marks since split()
  size_t layered_from_ = 0;
  int layer_ = -1;  ///< -1: not split
};

}  // namespace shardlens::ui
