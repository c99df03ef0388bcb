// The parts of the page inside a collective. Only for the files of this folder.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ui/collective/hops.h"
#include "ui/stage/lanes.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/heatmap.h"
#include "ui/widgets/paint.h"

namespace shardlens::ui::collective {

/// A lower window, in pixels at scale 1, shows either the hops or price and times.
inline constexpr float kLowWindow = 600;
/// So does a narrower one, where price and times stand below each other.
inline constexpr float kNarrowWindow = 560;

/// What the terms of a chunk really hold, thinned to a few cells: the run's values.
struct ChunkPictures {
  ColourScale scale;
  std::vector<std::vector<std::shared_ptr<const Picture>>> terms;  ///< [rank][chunk]; null: not kept
  std::vector<std::vector<std::shared_ptr<const Picture>>> held;  ///< [rank][chunk], before the hop under way
  bool known() const { return !terms.empty(); }
};
/// Computed once for each hop. A sum of terms is the sum of their pictures: cells are means.
const ChunkPictures& pictures_of(const Context& context, const Inside& inside);
/// Draws what a rank holds of a chunk; nothing where the run kept no values.
void draw_picture(const Context& context, const Inside& inside, const ChunkPictures& pictures, int rank,
                  int chunk, const stage::Rect& place);

/// Draws a chunk: a numbered place for each rank's term, or one bar with a sign where it is complete. Too
/// small for places: a bar as long as its share of the terms.
void draw_chunk(const Context& context, const Inside& inside, const ChunkLook& look,
                const stage::Rect& place);
/// Draws the terms that one rank passes to another.
void draw_passed(const Context& context, const Inside& inside, const Passing& passing,
                 const stage::Rect& place);

void draw_ring(const Context& context, const Inside& inside, const ChunkPictures& pictures,
               const stage::Rect& room);
void draw_tree(const Context& context, const Inside& inside, const stage::Rect& room);
/// What every rank holds of every chunk, and what the marks mean.
void draw_table(const Context& context, const Inside& inside, const stage::Rect& room);

/// The buttons, and the line of hops with a picture of the whole table under each tick.
float line_height(const Context& context, const Inside& inside, float width, bool low);
void draw_line_of_hops(const Context& context, const Inside& inside, const stage::Rect& room, bool low);

/// The price of ring and tree, and what was measured here.
float figures_height(const Context& context, const Inside& inside, float width);
void draw_figures(const Context& context, const Inside& inside, const stage::Rect& room);

/// What is known about it: parity, the communicator that ran, and that the hops are drawn.
std::vector<Chip> chips_of(const Context& context, const Inside& inside);
/// "O = C · Wo": the step that made what is converted.
std::string equation_of(const Inside& inside);

}  // namespace shardlens::ui::collective
