// Finds the rectangles in Dear ImGui's triangles, and clears them.
#include "ui/platform/opaque.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <optional>

#include "ui/platform/gl.h"

namespace shardlens {
namespace {

constexpr unsigned kIndices = 6;  // of a rectangle: two triangles, as ImDrawList::PrimRect writes them

// True if the atlas' texel at `uv` is opaque white: the white pixel, or the inside of rounded corners.
bool is_white_pixel(ImVec2 uv) {
  ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
  if (uv.x == atlas.TexUvWhitePixel.x && uv.y == atlas.TexUvWhitePixel.y) return true;
  ImTextureData* texture = atlas.TexData;
  if (texture == nullptr || texture->Format != ImTextureFormat_RGBA32) return false;
  const int x = static_cast<int>(uv.x * static_cast<float>(texture->Width)),
            y = static_cast<int>(uv.y * static_cast<float>(texture->Height));
  if (x < 0 || y < 0 || x >= texture->Width || y >= texture->Height) return false;
  return *static_cast<const ImU32*>(texture->GetPixelsAt(x, y)) == IM_COL32_WHITE;
}

// Returns the rectangle of the six indices at `index`, if they draw one: two triangles that share the
// diagonal from the first corner to the third. Dear ImGui writes plain rectangles and the parts of rounded
// ones like this.
std::optional<OpaqueRectangle> rectangle_at(const ImDrawList& list, const ImDrawCmd& command,
                                            const ImDrawIdx* index) {
  if (index[3] != index[0] || index[4] != index[2]) return std::nullopt;
  const ImDrawVert* vertices = list.VtxBuffer.Data + command.VtxOffset;
  const ImDrawVert* corner[4] = {vertices + index[0], vertices + index[1], vertices + index[2],
                                 vertices + index[5]};
  if ((corner[0]->col & IM_COL32_A_MASK) != IM_COL32_A_MASK) return std::nullopt;
  for (const ImDrawVert* other : corner) {
    if (other->col != corner[0]->col || other->uv.x != corner[0]->uv.x || other->uv.y != corner[0]->uv.y)
      return std::nullopt;
  }
  const ImVec2 a = corner[0]->pos, b = corner[1]->pos, c = corner[2]->pos, d = corner[3]->pos;
  const bool upright = (a.y == b.y && b.x == c.x && c.y == d.y && d.x == a.x) ||
                       (a.x == b.x && b.y == c.y && c.x == d.x && d.y == a.y);
  if (!upright || !is_white_pixel(corner[0]->uv)) return std::nullopt;
  const ImVec4 clip = command.ClipRect;
  const OpaqueRectangle rectangle{
      {std::max(std::min(a.x, c.x), clip.x), std::max(std::min(a.y, c.y), clip.y)},
      {std::min(std::max(a.x, c.x), clip.z), std::min(std::max(a.y, c.y), clip.w)},
      corner[0]->col};
  return rectangle;
}

// Returns the first pixel whose middle is at or after `edge`.
int pixel(float edge) {
  return static_cast<int>(std::ceil(edge - 0.5f));
}

// A draw callback. The renderer's scissor test is on, and the renderer sets the scissor rectangle again for
// later commands.
void clear_rectangle(const ImDrawList*, const ImDrawCmd* command) {
  const OpaqueRectangle& rectangle = *static_cast<const OpaqueRectangle*>(command->UserCallbackData);
  const ImDrawData& data = *ImGui::GetDrawData();
  const auto x = [&](float at) { return pixel((at - data.DisplayPos.x) * data.FramebufferScale.x); };
  const auto y = [&](float at) { return pixel((at - data.DisplayPos.y) * data.FramebufferScale.y); };
  const int height = pixel(data.DisplaySize.y * data.FramebufferScale.y);
  const int left = x(rectangle.min.x), right = x(rectangle.max.x);
  const int top = y(rectangle.min.y), bottom = y(rectangle.max.y);
  if (right <= left || bottom <= top) return;
  glScissor(left, height - bottom, right - left, bottom - top);
  const ImVec4 colour = ImGui::ColorConvertU32ToFloat4(rectangle.colour);
  glClearColor(colour.x, colour.y, colour.z, 1);
  glClear(GL_COLOR_BUFFER_BIT);
}

// The areas where something was drawn so far. After kMost areas, everything counts as drawn; backgrounds come
// first, so that is enough.
class Touched {
 public:
  void add(const OpaqueRectangle& rectangle) {
    if (areas_.size() < kMost) areas_.push_back(rectangle);
  }
  void add(const ImDrawList& list, const ImDrawCmd& command) {
    if (areas_.size() >= kMost) return;
    OpaqueRectangle area{{FLT_MAX, FLT_MAX}, {-FLT_MAX, -FLT_MAX}, 0};
    for (unsigned i = 0; i < command.ElemCount; ++i) {
      const unsigned vertex = command.VtxOffset + list.IdxBuffer[static_cast<int>(command.IdxOffset + i)];
      const ImVec2 at = list.VtxBuffer[static_cast<int>(vertex)].pos;
      area.min = {std::min(area.min.x, at.x), std::min(area.min.y, at.y)};
      area.max = {std::max(area.max.x, at.x), std::max(area.max.y, at.y)};
    }
    areas_.push_back(area);
  }
  bool meets(const OpaqueRectangle& rectangle) const {
    return areas_.size() >= kMost ||
           std::any_of(areas_.begin(), areas_.end(), [&](const OpaqueRectangle& area) {
             return area.min.x < rectangle.max.x && rectangle.min.x < area.max.x &&
                    area.min.y < rectangle.max.y && rectangle.min.y < area.max.y;
           });
  }

 private:
  static constexpr size_t kMost = 64;
  std::vector<OpaqueRectangle> areas_;
};

}  // namespace

void clear_opaque_rectangles(ImDrawData& data, ImU32 ground, float least_pixels,
                             std::vector<OpaqueRectangle>& storage) {
  storage.clear();
  size_t candidates = 0;
  for (const ImDrawList* list : data.CmdLists)
    candidates += static_cast<size_t>(list->IdxBuffer.Size) / kIndices;
  storage.reserve(candidates);  // callbacks keep pointers into it
  Touched touched;
  for (ImDrawList* list : data.CmdLists) {
    ImVector<ImDrawCmd> commands;
    commands.reserve(list->CmdBuffer.Size + 16);
    for (const ImDrawCmd& command : list->CmdBuffer) {
      if (command.UserCallback != nullptr) {
        commands.push_back(command);
        continue;
      }
      ImDrawCmd rest = command;  // the part of the command that is not in `commands` yet
      const auto give_out = [&](unsigned until) {
        rest.ElemCount = until - rest.IdxOffset;
        if (rest.ElemCount == 0) return;
        touched.add(*list, rest);
        commands.push_back(rest);
      };
      const unsigned end = command.IdxOffset + command.ElemCount;
      for (unsigned at = command.IdxOffset; at + kIndices <= end;) {
        const std::optional<OpaqueRectangle> found = rectangle_at(*list, command, list->IdxBuffer.Data + at);
        if (!found) {
          at += 3;  // go on by one triangle, because other shapes may be between rectangles
          continue;
        }
        const ImVec2 size(found->max.x - found->min.x, found->max.y - found->min.y);
        const bool seen = size.x > 0 && size.y > 0;
        if (seen && size.x * size.y < least_pixels) {
          at += kIndices;
          continue;
        }
        give_out(at);
        if (seen && (found->colour != ground || touched.meets(*found))) {
          storage.push_back(*found);
          touched.add(*found);
          ImDrawCmd clear;
          clear.ClipRect = command.ClipRect;
          clear.UserCallback = clear_rectangle;
          clear.UserCallbackData = &storage.back();
          commands.push_back(clear);
        }
        at += kIndices;
        rest.IdxOffset = at;
      }
      give_out(end);
    }
    list->CmdBuffer.swap(commands);
  }
}

}  // namespace shardlens
