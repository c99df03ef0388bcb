// Computes a hash for each tile, joins the changed tiles into a few areas, and cuts draw commands to them.
#include "ui/platform/changes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

namespace shardlens {
namespace {

constexpr int kTile = 32;         // pixels in each direction
constexpr size_t kMostAreas = 8;  // every command is drawn once for each area that it overlaps

uint64_t mixed(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a ^ 0xA0761D6478BD642F) * (b ^ 0xE7037ED1A0B428DB);
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t bits(ImVec2 at) {
  return std::bit_cast<uint64_t>(at);
}

PixelArea common(const PixelArea& a, const PixelArea& b) {
  return {std::max(a.left, b.left), std::max(a.top, b.top), std::min(a.right, b.right),
          std::min(a.bottom, b.bottom)};
}

// Returns the smallest area that holds both.
PixelArea joined(const PixelArea& a, const PixelArea& b) {
  return {std::min(a.left, b.left), std::min(a.top, b.top), std::max(a.right, b.right),
          std::max(a.bottom, b.bottom)};
}

bool meet(const PixelArea& a, const PixelArea& b) {
  return !common(a, b).is_empty();
}

// Returns the pixels that a command may touch, rounded like the renderer does, which counts rows from the
// bottom.
PixelArea clip_area(const ImDrawData& data, const ImDrawCmd& command, PixelSize size) {
  const ImVec4 clip(command.ClipRect.x - data.DisplayPos.x, command.ClipRect.y - data.DisplayPos.y,
                    command.ClipRect.z - data.DisplayPos.x, command.ClipRect.w - data.DisplayPos.y);
  const float height = static_cast<float>(size.height);
  const int left = static_cast<int>(clip.x), below = static_cast<int>(height - clip.w);
  const int bottom = size.height - below;
  return common(
      {left, bottom - static_cast<int>(clip.w - clip.y), left + static_cast<int>(clip.z - clip.x), bottom},
      {0, 0, size.width, size.height});
}

// Two triangles that share a side, as Dear ImGui draws letters, rectangles and lines; or one triangle, with
// its first corner twice. To look at two at once takes less time (TRIED.md).
struct Quad {
  unsigned indices;
  std::array<const ImDrawVert*, 4> corners;
};

// Returns the quad that begins at `index`; `left`: the indices that the command still has.
Quad quad_at(const ImDrawVert* vertices, const ImDrawIdx* index, unsigned left) {
  const ImDrawVert *const a = vertices + index[0], *const b = vertices + index[1],
                          *const c = vertices + index[2];
  if (left >= 6 && index[3] == index[0] && index[4] == index[2]) return {6, {a, b, c, vertices + index[5]}};
  if (left >= 6 && index[3] == index[2] && index[5] == index[0]) return {6, {a, b, c, vertices + index[4]}};
  return {3, {a, b, c, a}};
}

// The next whole number that is not below; the library's needs a newer processor to be fast.
int rounded_up(float value) {
  const int whole = static_cast<int>(value);
  return static_cast<float>(whole) < value ? whole + 1 : whole;
}

// Visits the quads of a command, each with its first index and the pixels that it may touch.
template <class Visit>
void each_quad(const ImDrawData& data, const ImDrawList& list, const ImDrawCmd& command,
               const PixelArea& clip, Visit visit) {
  const ImDrawVert* vertices = list.VtxBuffer.Data + command.VtxOffset;
  const ImDrawIdx* indices = list.IdxBuffer.Data + command.IdxOffset;
  const float left = static_cast<float>(clip.left), right = static_cast<float>(clip.right);
  const float top = static_cast<float>(clip.top), bottom = static_cast<float>(clip.bottom);
  Quad quad;
  for (unsigned at = 0; at + 3 <= command.ElemCount; at += quad.indices) {
    quad = quad_at(vertices, indices + at, command.ElemCount - at);
    const auto& [a, b, c, d] = quad.corners;
    const float least_x =
        std::min(std::min(a->pos.x, b->pos.x), std::min(c->pos.x, d->pos.x)) - data.DisplayPos.x;
    const float least_y =
        std::min(std::min(a->pos.y, b->pos.y), std::min(c->pos.y, d->pos.y)) - data.DisplayPos.y;
    const float most_x =
        std::max(std::max(a->pos.x, b->pos.x), std::max(c->pos.x, d->pos.x)) - data.DisplayPos.x;
    const float most_y =
        std::max(std::max(a->pos.y, b->pos.y), std::max(c->pos.y, d->pos.y)) - data.DisplayPos.y;
    // Outside the clip rectangle coordinates may be too large for int. NaN counts as touching everything.
    const PixelArea area{static_cast<int>(least_x > left ? std::min(least_x, right) : left),
                         static_cast<int>(least_y > top ? std::min(least_y, bottom) : top),
                         rounded_up(most_x < right ? std::max(most_x, left) : right),
                         rounded_up(most_y < bottom ? std::max(most_y, top) : bottom)};
    if (!area.is_empty()) visit(at, area, quad);
  }
}

// Adds an area to disjoint areas. Areas that overlap are joined, also neighbours if that adds no pixel. If
// there are too many areas, it joins the two that add the fewest unneeded pixels.
void add_area(std::vector<PixelArea>& areas, PixelArea area) {
  for (size_t i = 0; i < areas.size();) {
    const PixelArea both = joined(area, areas[i]);
    if (meet(area, areas[i]) || both.pixels() == area.pixels() + areas[i].pixels()) {
      area = both;
      areas.erase(areas.begin() + static_cast<std::ptrdiff_t>(i));
      i = 0;  // the larger area may overlap others now
    } else {
      ++i;
    }
  }
  areas.push_back(area);
  if (areas.size() <= kMostAreas) return;
  size_t first = 0, second = 1;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (size_t i = 0; i < areas.size(); ++i) {
    for (size_t j = i + 1; j < areas.size(); ++j) {
      const int64_t more = joined(areas[i], areas[j]).pixels() - areas[i].pixels() - areas[j].pixels();
      if (more < least) least = more, first = i, second = j;
    }
  }
  const PixelArea both = joined(areas[first], areas[second]);
  areas.erase(areas.begin() + static_cast<std::ptrdiff_t>(second));
  areas.erase(areas.begin() + static_cast<std::ptrdiff_t>(first));
  add_area(areas, both);
}

}  // namespace

const std::vector<PixelArea>& Changes::find(const ImDrawData& data, ImU32 ground, PixelSize size) {
  areas_.clear();
  const int cols = (size.width + kTile - 1) / kTile, rows = (size.height + kTile - 1) / kTile;
  const auto tile = [&](int col, int row) {
    return static_cast<size_t>(row) * static_cast<size_t>(cols) + static_cast<size_t>(col);
  };
  const bool known = size == size_ && !tiles_.empty();
  size_ = size;
  before_.swap(tiles_);
  tiles_.assign(static_cast<size_t>(cols) * static_cast<size_t>(rows), ground);
  uint64_t state = 0;  // callbacks change it for all later commands
  for (const ImDrawList* list : data.CmdLists) {
    for (const ImDrawCmd& command : list->CmdBuffer) {
      if (command.UserCallback != nullptr) {
        state = mixed(state, std::bit_cast<uintptr_t>(command.UserCallback));
        continue;
      }
      const PixelArea clip = clip_area(data, command, size);
      if (clip.is_empty()) continue;
      const ImTextureData* texture = command.TexRef._TexData;
      uint64_t of_command = mixed(state, std::bit_cast<uintptr_t>(texture));
      of_command = mixed(of_command, texture != nullptr ? static_cast<uint64_t>(texture->UniqueID)
                                                        : static_cast<uint64_t>(command.TexRef._TexID));
      of_command = mixed(of_command, bits({command.ClipRect.x, command.ClipRect.y}));
      of_command = mixed(of_command, bits({command.ClipRect.z, command.ClipRect.w}));
      const auto add = [&](unsigned, const PixelArea& area, const Quad& quad) {
        uint64_t sum = of_command;
        for (const ImDrawVert* corner : quad.corners)
          sum = mixed(sum ^ corner->col, bits(corner->pos)) ^ bits(corner->uv);
        for (int row = area.top / kTile; row <= (area.bottom - 1) / kTile; ++row) {
          for (int col = area.left / kTile; col <= (area.right - 1) / kTile; ++col) {
            uint64_t& in_tile = tiles_[tile(col, row)];
            in_tile = mixed(in_tile, sum);
          }
        }
      };
      each_quad(data, *list, command, clip, add);
    }
  }
  const bool scaled = data.FramebufferScale.x != 1 || data.FramebufferScale.y != 1;
  if (!known || scaled) {
    areas_.push_back({0, 0, size.width, size.height});
    return areas_;
  }
  for (int row = 0; row < rows; ++row) {
    for (int col = 0; col < cols; ++col) {
      if (tiles_[tile(col, row)] == before_[tile(col, row)]) continue;
      const int first = col;
      while (col + 1 < cols && tiles_[tile(col + 1, row)] != before_[tile(col + 1, row)]) ++col;
      add_area(areas_, {first * kTile, row * kTile, std::min((col + 1) * kTile, size.width),
                        std::min((row + 1) * kTile, size.height)});
    }
  }
  return areas_;
}

void draw_only(ImDrawData& data, const std::vector<PixelArea>& areas, PixelSize size) {
  for (ImDrawList* list : data.CmdLists) {
    ImVector<ImDrawCmd> commands;
    ImVector<ImDrawIdx> indices;
    indices.reserve(list->IdxBuffer.Size);
    for (const ImDrawCmd& command : list->CmdBuffer) {
      if (command.UserCallback != nullptr) {
        commands.push_back(command);
        continue;
      }
      const PixelArea clip = clip_area(data, command, size);
      for (const PixelArea& area : areas) {
        const PixelArea seen = common(clip, area);
        if (seen.is_empty()) continue;
        ImDrawCmd part = command;
        part.IdxOffset = static_cast<unsigned>(indices.Size);
        const ImDrawIdx* from = list->IdxBuffer.Data + command.IdxOffset;
        each_quad(data, *list, command, seen, [&](unsigned at, const PixelArea&, const Quad& quad) {
          for (unsigned i = at; i < at + quad.indices; ++i) indices.push_back(from[i]);
        });
        part.ElemCount = static_cast<unsigned>(indices.Size) - part.IdxOffset;
        if (part.ElemCount == 0) continue;
        part.ClipRect = {static_cast<float>(seen.left) + data.DisplayPos.x,
                         static_cast<float>(seen.top) + data.DisplayPos.y,
                         static_cast<float>(seen.right) + data.DisplayPos.x,
                         static_cast<float>(seen.bottom) + data.DisplayPos.y};
        commands.push_back(part);
      }
    }
    list->CmdBuffer.swap(commands);
    list->IdxBuffer.swap(indices);
  }
}

}  // namespace shardlens
