// The pages of the Scaling tab.
#pragma once

#include <string>

#include "engine/runtime/session/scaling_snapshot.h"
#include "ui/panels/chart.h"
#include "ui/panels/parts.h"
#include "ui/panels/scaling/scaling_rows.h"
#include "ui/panels/scaling/scaling_view.h"
#include "ui/widgets/controls.h"

namespace shardlens::ui {

/// How a kind of points is drawn: by its colour and, for people who cannot tell the colours apart, by its
/// mark.
struct SourceLook {
  ImU32 colour = 0;
  DotMark mark = DotMark::None;
  bool dashed = false;
};
SourceLook look_of(const Theme& theme, Source source);

/// Draws the pages weak, strong and heads: the three kinds of points on one axis, and below it the source of
/// each.
void draw_scaling_series(const Context& context, ScalingPage page, ImVec2 min, ImVec2 size);

/// Draws the page break-even, of doubling T across the node's border: the formula with its numbers, and how
/// they change with the layer's width.
void draw_break_even(const Context& context, ImVec2 min, ImVec2 size);

/// Draws the page cluster: T x D x P devices and a model on them.
void draw_cluster(const Context& context, ImVec2 min, ImVec2 size);
/// Explains its figures, and why a parameter needs more bytes there than on the memory wall.
std::string cluster_basis(const ClusterStudy& study);
/// Draw the devices by stage and replica, and the pipeline's time (scaling_cluster_picture.cpp). Both return
/// the height they took.
float draw_devices(const Context& context, const ClusterStudy& study, ImVec2 min, ImVec2 size);
float draw_bubble(const Context& context, const ClusterStudy& study, ImVec2 min, ImVec2 size);

}  // namespace shardlens::ui
