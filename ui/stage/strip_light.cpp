// Finds the lit parts, and draws what a lesson says about them.
#include "ui/stage/strip_light.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ui/widgets/paint.h"

namespace shardlens::ui::stage {
namespace {

constexpr float kLeader = 14, kPad = 4;  ///< below a callout's words; above them

TextStyle callout_style(const Context& context) {
  return {context.fonts.body, std::round(context.px(kBodySize)), context.theme.text};
}

}  // namespace

std::vector<LitPart> lit_parts(const Program& program, const Sections& sections, const LightPlaces& places,
                               const StageLight& light) {
  std::vector<LitPart> parts(sections.list.size());
  const auto part_of = [&](const NamedPlace& place) -> LitPart* {
    if (place.step < 0) return nullptr;
    return &parts[static_cast<size_t>(sections.of_step[static_cast<size_t>(place.step)])];
  };
  for (const NamedPlace& place : places.lit)
    if (LitPart* part = part_of(place)) part->lit = true;
  for (size_t i = 0; i < light.callouts.size(); ++i) {
    const NamedPlace& place = places.callouts[i];
    LitPart* const part = part_of(place);
    if (part == nullptr) continue;
    std::string& text = part->callouts[program.step(place.step).phase == Phase::Forward ? 0 : 1];
    text += (text.empty() ? "" : "\n") + light.callouts[i].text;
  }
  return parts;
}

std::vector<float> callout_heights(const Context& context, const std::vector<LitPart>& parts, float width) {
  std::vector<float> heights;
  for (const LitPart& part : parts) {
    float height = 0;
    for (const std::string& text : part.callouts)
      if (!text.empty())
        height = std::max(height,
                          wrapped_height(callout_style(context), text, width) + context.px(kPad + kLeader));
    heights.push_back(height);
  }
  return heights;
}

StripRows place_rows(std::vector<float> callouts, float room, float least, float most) {
  StripRows rows;
  const float taken = std::accumulate(callouts.begin(), callouts.end(), 0.0f);
  rows.height = std::floor(std::clamp((room - taken) / static_cast<float>(callouts.size()), least, most));
  rows.top.resize(callouts.size());
  for (size_t i = callouts.size(); i-- > 0; rows.total += rows.height) {
    rows.total += callouts[i];
    rows.top[i] = rows.total;
  }
  rows.callouts = std::move(callouts);
  return rows;
}

void draw_part_callout(const Context& context, ImDrawList* list, const std::string& text, const Rect& room) {
  if (text.empty()) return;
  const ImU32 dim = context.theme.dim;
  const float x = room.min.x + context.px(4), dot = context.px(3);
  const float thin = std::max(1.0f, std::round(context.px(1)));
  const float height = draw_wrapped(list, {room.min.x, room.min.y + context.px(kPad)}, callout_style(context),
                                    text, room.width());
  fill_rect(list, {x, room.min.y + context.px(kPad) + height + context.px(2)}, {x + thin, room.max.y}, dim);
  fill_rect(list, {x - dot + thin / 2, room.max.y - dot}, {x + dot + thin / 2, room.max.y + dot}, dim, dot);
}

void shade_parts(const Context& context, ImDrawList* list, const std::vector<LitPart>& parts,
                 const StripRows& rows, const Rect& room) {
  if (std::none_of(parts.begin(), parts.end(), [](const LitPart& part) { return part.lit; })) return;
  for (size_t i = 0; i < parts.size(); ++i) {
    const float top = room.min.y + rows.top[i];
    if (!parts[i].is_on_plate())
      fill_rect(list, {room.min.x, top}, {room.max.x, top + rows.height}, shade_of(context.theme.window));
  }
}

std::optional<std::pair<float, float>> lit_stretch(const std::vector<LitPart>& parts, const StripRows& rows) {
  std::optional<std::pair<float, float>> stretch;
  for (size_t i = parts.size(); i-- > 0;) {  // from the top
    if (!parts[i].is_on_plate()) continue;
    if (!stretch) stretch = {rows.top[i] - rows.callouts[i], 0.0f};
    stretch->second = rows.top[i] + rows.height;
  }
  return stretch;
}

}  // namespace shardlens::ui::stage
