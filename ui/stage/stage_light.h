// What a scene of a lesson lights on the Stage, and the words that it puts beside rows. A lesson names steps,
// tensors and ranks; here the names become rows of the Program that is shown. Names that it does not have
// light nothing.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/runtime/snapshot.h"
#include "ui/stage/rows.h"
#include "ui/view_state.h"

namespace shardlens::ui {

struct StageCallout {
  std::string at;  ///< a step, tensor or rank, as a lesson names them
  std::string text;
  bool operator==(const StageCallout&) const = default;
};

/// Empty: nothing is dimmed.
struct StageLight {
  std::vector<std::string> lit;  ///< steps, tensors and ranks ("rank 2")
  std::vector<StageCallout> callouts;
  bool operator==(const StageLight&) const = default;
};

namespace stage {

/// What a name means in a Program.
struct NamedPlace {
  int rank = -1;     ///< -1: it names no rank
  StepId step = -1;  ///< the step; of a tensor the one that writes it, else the first that reads it
  TensorId tensor = kNoTensor;  ///< kNoTensor: it names no tensor
};
NamedPlace place_named(const Program& program, const std::string& name);

/// The places of a light's names, in their order.
struct LightPlaces {
  std::vector<NamedPlace> lit, callouts;
};
/// Cached, because names are looked up among all steps and tensors.
const LightPlaces& places_of(const std::shared_ptr<const Plan>& plan, const StageLight& light);

/// What is dimmed to 30 %: rows that are not lit, and lanes without one of these ranks.
struct Dimming {
  bool rows = false;
  std::vector<int> ranks;  ///< lit; empty: all
  bool lane_is_dim(int first, int last) const;
};

/// How many lines a callout's text takes.
using CountLines = std::function<int(const std::string& text)>;

/// Marks the lit rows, and inserts a row for each callout: above a row of tensors, below a band or a line. A
/// rank's callout stands below the first lit row of tensors. Callouts of the same place share a row.
Dimming light_rows(std::vector<Row>& rows, const LightPlaces& places, const StageLight& light, int ranks,
                   const CountLines& lines);

/// Rows [first, last], which are lit and stand on one plate.
struct Plate {
  size_t first = 0, last = 0;
};
std::vector<Plate> plates_of(const std::vector<Row>& rows);

/// The colour of plates. On white paper, where the ground is as light as a panel, it is darker.
ImU32 plate_colour(const Theme& theme);
/// Drawn over what stands on `ground`, it leaves 30 % of it.
ImU32 shade_of(ImU32 ground);

/// What the lit rows were brought into view for; again if one of these changes.
struct LightSeen {
  StageLight light;
  std::shared_ptr<const Plan> plan;
  int section = kWholeModel;
  float width = 0, height = 0, scale = 0;  ///< of the panel
  bool operator==(const LightSeen&) const = default;
};
/// True once for each light that has lit rows or callouts: the Stage then brings them into view.
bool is_new_light(ViewState& view, const std::shared_ptr<const Plan>& plan, float width, float height);

}  // namespace stage
}  // namespace shardlens::ui
