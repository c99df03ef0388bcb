// A lesson's light on the strip of a whole model: which parts are lit, what stands above them, and where all
// parts stand because of it.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ui/context.h"
#include "ui/plan/sections.h"
#include "ui/stage/lanes.h"
#include "ui/stage/stage_light.h"

namespace shardlens::ui::stage {

/// What a light does to a part. It is lit if one of its steps is; ranks have no place in the strip.
struct LitPart {
  bool lit = false;
  std::array<std::string, 2> callouts;  ///< about its forward side, and its other side
  bool is_on_plate() const { return lit || !callouts[0].empty() || !callouts[1].empty(); }
};
/// One for each section; all of them unlit if the light names no step of the model.
std::vector<LitPart> lit_parts(const Program& program, const Sections& sections, const LightPlaces& places,
                               const StageLight& light);

/// The places of the parts, in pixels below the head of the strip. Tokens come in at the bottom; the loss is
/// at the top, as in drawings of a transformer. A part's callouts stand above it.
struct StripRows {
  std::vector<float> top, callouts;  ///< by part; and the height of its callouts
  float height = 0;                  ///< of one part
  float total = 0;
};
/// The heights of callouts in sides that are `width` wide.
std::vector<float> callout_heights(const Context& context, const std::vector<LitPart>& parts, float width);
/// Divides `room` among the parts; each gets `least` to `most`.
StripRows place_rows(std::vector<float> callouts, float room, float least, float most);

/// Draws what a lesson says about one side of a part, in the room above it.
void draw_part_callout(const Context& context, ImDrawList* list, const std::string& text, const Rect& room);
/// Dims the parts that are not lit, if any is. `room` begins below the head.
void shade_parts(const Context& context, ImDrawList* list, const std::vector<LitPart>& parts,
                 const StripRows& rows, const Rect& room);
/// From the first to the last part on a plate, below the head; nothing if there is none.
std::optional<std::pair<float, float>> lit_stretch(const std::vector<LitPart>& parts, const StripRows& rows);

}  // namespace shardlens::ui::stage
