// Notes marks with their clip rectangles and sorts them by layer.
#include "ui/widgets/tape.h"

#include <algorithm>
#include <cfloat>
#include <numeric>
#include <utility>

namespace shardlens::ui {
namespace {

struct Box {
  ImVec2 min, max;
};

Box box_of(const mark::Fill& m) {
  return {m.min, m.max};
}
Box box_of(const mark::Outline& m) {
  return {m.min, m.max};
}
Box box_of(const mark::Pixels& m) {
  return {m.min, m.max};
}
Box box_of(const mark::Line& m) {
  const float half = m.thickness / 2;
  return {{std::min(m.from.x, m.to.x) - half, std::min(m.from.y, m.to.y) - half},
          {std::max(m.from.x, m.to.x) + half, std::max(m.from.y, m.to.y) + half}};
}
Box box_of(const mark::Triangle& m) {
  return {{std::min({m.a.x, m.b.x, m.c.x}), std::min({m.a.y, m.b.y, m.c.y})},
          {std::max({m.a.x, m.b.x, m.c.x}), std::max({m.a.y, m.b.y, m.c.y})}};
}
Box box_of(const mark::Words& m) {
  const float width = text_width(m.style, m.text);
  if (m.upwards) {
    const float below = m.at.y + m.style.size / 2;
    return {{m.at.x - m.style.size / 2, below - width}, {m.at.x + m.style.size / 2, below}};
  }
  const float left = m.at.x - (m.align == Align::Left ? 0 : m.align == Align::Right ? width : width / 2);
  return {{left, m.at.y}, {left + width, m.at.y + m.style.size}};
}

/// A place and a size on another tape.
struct Move {
  ImVec2 at;
  float scale;
  ImVec2 operator()(ImVec2 p) const { return at + p * scale; }
};

void move(mark::Fill& m, const Move& to) {
  m.min = to(m.min), m.max = to(m.max), m.rounding *= to.scale;
}
void move(mark::Outline& m, const Move& to) {
  m.min = to(m.min), m.max = to(m.max), m.rounding *= to.scale, m.thickness *= to.scale;
}
void move(mark::Line& m, const Move& to) {
  m.from = to(m.from), m.to = to(m.to), m.thickness *= to.scale;
}
void move(mark::Triangle& m, const Move& to) {
  m.a = to(m.a), m.b = to(m.b), m.c = to(m.c);
}
void move(mark::Words& m, const Move& to) {
  m.at = to(m.at), m.style.size *= to.scale;
}
void move(mark::Pixels& m, const Move& to) {
  m.min = to(m.min), m.max = to(m.max);
}

}  // namespace

void Tape::put(decltype(TapeMark::what) what) {
  marks_.push_back({{-FLT_MAX, -FLT_MAX}, {FLT_MAX, FLT_MAX}, false, std::move(what)});
}

void Tape::put(const Tape& other, ImVec2 at, float scale) {
  const Move to{at, scale};
  for (TapeMark mark : other.marks_) {
    mark.clip_min = to(mark.clip_min), mark.clip_max = to(mark.clip_max);
    std::visit([&](auto& m) { move(m, to); }, mark.what);
    marks_.push_back(std::move(mark));
  }
}

void Tape::note(const ImDrawList* list, decltype(TapeMark::what) what) {
  const Box box = std::visit([](const auto& m) { return box_of(m); }, what);
  const ImVec2 clip_min = list->GetClipRectMin(), clip_max = list->GetClipRectMax();
  if (box.max.x <= clip_min.x || box.min.x >= clip_max.x || box.max.y <= clip_min.y ||
      box.min.y >= clip_max.y)
    return;
  if (layer_ >= 0) layers_.push_back(layer_);
  const bool clipped =
      box.min.x < clip_min.x || box.min.y < clip_min.y || box.max.x > clip_max.x || box.max.y > clip_max.y;
  marks_.push_back({clip_min, clip_max, clipped, std::move(what)});
}

void Tape::split() {
  layered_from_ = marks_.size();
  layer_ = 0;
}

void Tape::choose(int layer) {
  layer_ = layer;
}

void Tape::join() {
  std::vector<size_t> order(layers_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return layers_[a] < layers_[b]; });
  std::vector<TapeMark> sorted;
  sorted.reserve(order.size());
  for (const size_t i : order) sorted.push_back(std::move(marks_[layered_from_ + i]));
  std::move(sorted.begin(), sorted.end(), marks_.begin() + static_cast<std::ptrdiff_t>(layered_from_));
  layers_.clear();
  layer_ = -1;
}

void Tape::clear() {
  marks_.clear();
  layers_.clear();
  layer_ = -1;
}

}  // namespace shardlens::ui
