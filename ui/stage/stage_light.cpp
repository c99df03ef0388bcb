// Looks up a light's names, and puts the callouts among the rows.
#include "ui/stage/stage_light.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "engine/lesson/functions.h"
#include "engine/lesson/names.h"
#include "ui/plan/cache.h"

namespace shardlens::ui::stage {
namespace {

/// The rows of a place that is no rank. A collective that is left out has two.
std::vector<size_t> rows_at(const std::vector<Row>& rows, const NamedPlace& place) {
  std::vector<size_t> inputs, found;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    if (row.kind == RowKind::Input && place.tensor != kNoTensor && row.tensor == place.tensor)
      inputs.push_back(i);
    if (place.step >= 0 && row.step == place.step) found.push_back(i);
  }
  return inputs.empty() ? found : inputs;  // a tensor from outside has a row of its own
}

/// The row below which a rank's callout stands: the first lit one with tensors, else the first with tensors.
std::vector<size_t> row_for_rank(const std::vector<Row>& rows) {
  std::vector<size_t> first;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!draws_tensor(rows[i].kind)) continue;
    if (rows[i].lit) return {i};
    if (first.empty()) first = {i};
  }
  return first;
}

}  // namespace

NamedPlace place_named(const Program& program, const std::string& name) {
  NamedPlace place;
  if (const std::optional<int> rank = rank_named(name)) {
    place.rank = *rank;
    return place;
  }
  place.step = find_step(program, name);
  if (place.step >= 0) return place;
  place.tensor = find_tensor(program, name);
  if (place.tensor == kNoTensor) return place;
  place.step = producer_of(program, place.tensor);
  if (const std::vector<StepId> readers = consumers_of(program, place.tensor);
      place.step < 0 && !readers.empty())
    place.step = readers.front();
  return place;
}

const LightPlaces& places_of(const std::shared_ptr<const Plan>& plan, const StageLight& light) {
  static Cache<std::pair<std::shared_ptr<const Plan>, StageLight>, LightPlaces, 2> known;
  return known.of({plan, light}, [&] {
    LightPlaces places;
    for (const std::string& name : light.lit) places.lit.push_back(place_named(plan->program, name));
    for (const StageCallout& callout : light.callouts)
      places.callouts.push_back(place_named(plan->program, callout.at));
    return places;
  });
}

bool Dimming::lane_is_dim(int first, int last) const {
  return !ranks.empty() &&
         std::none_of(ranks.begin(), ranks.end(), [&](int rank) { return rank >= first && rank <= last; });
}

Dimming light_rows(std::vector<Row>& rows, const LightPlaces& places, const StageLight& light, int ranks,
                   const CountLines& lines) {
  Dimming dimming;
  for (const NamedPlace& place : places.lit) {
    if (place.rank >= 0 && place.rank < ranks) dimming.ranks.push_back(place.rank);
    for (const size_t row : rows_at(rows, place)) rows[row].lit = dimming.rows = true;
  }
  // The callouts of each row, above it and below it.
  std::vector<std::pair<std::vector<Row>, std::vector<Row>>> beside(rows.size());
  for (size_t i = 0; i < light.callouts.size(); ++i) {
    const NamedPlace& place = places.callouts[i];
    if (place.rank >= ranks) continue;
    const std::vector<size_t> at = place.rank >= 0 ? row_for_rank(rows) : rows_at(rows, place);
    if (at.empty()) continue;
    Row& about = rows[at.front()];
    const bool below = place.rank >= 0 || about.kind == RowKind::Band || about.kind == RowKind::Line;
    about.lit = true;
    std::vector<Row>& there = below ? beside[at.front()].second : beside[at.front()].first;
    const auto same =
        std::find_if(there.begin(), there.end(), [&](const Row& row) { return row.rank == place.rank; });
    if (same != there.end()) {
      same->title += "\n" + light.callouts[i].text;
      continue;
    }
    Row callout;
    callout.kind = RowKind::Callout;
    callout.phase = about.phase;
    callout.title = light.callouts[i].text;
    callout.lit = true;
    callout.points_up = below;
    callout.rank = place.rank;
    there.push_back(std::move(callout));
  }
  std::vector<Row> all;
  for (size_t i = 0; i < rows.size(); ++i) {
    auto& [above, below] = beside[i];
    for (std::vector<Row>* callouts : {&above, &below})
      for (Row& row : *callouts) row.lines = std::max(1, lines(row.title));
    std::move(above.begin(), above.end(), std::back_inserter(all));
    all.push_back(std::move(rows[i]));
    std::move(below.begin(), below.end(), std::back_inserter(all));
  }
  rows = std::move(all);
  return dimming;
}

std::vector<Plate> plates_of(const std::vector<Row>& rows) {
  std::vector<Plate> plates;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].lit) continue;
    if (!plates.empty() && plates.back().last + 1 == i)
      plates.back().last = i;
    else
      plates.push_back({i, i});
  }
  return plates;
}

bool is_new_light(ViewState& view, const std::shared_ptr<const Plan>& plan, float width, float height) {
  const LightSeen now{view.of<StageLight>(), plan, view.open_section, width, height, view.ui_scale()};
  const bool is_new = std::exchange(view.of<LightSeen>(), now) != now;
  return is_new && now.light != StageLight{};
}

}  // namespace shardlens::ui::stage
