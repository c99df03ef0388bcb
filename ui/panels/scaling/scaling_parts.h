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

/// How a kind of points is drawn: by its colour and, for who does not tell colours apart, by its mark.
struct SourceLook {
  ImU32 colour = 0;
  DotMark mark = DotMark::None;
  bool dashed = false;
};
SourceLook look_of(const Theme& theme, Source source);

/// Weak, strong and heads: the three kinds of points on one axis, and below where each comes from.
void draw_scaling_series(const Context& context, ScalingPage page, ImVec2 min, ImVec2 size);

/// Doubling T across the node's border: the formula with its numbers, and how they move with the layer's
/// width.
void draw_break_even(const Context& context, ImVec2 min, ImVec2 size);

/// T x D x P devices and a model on them.
void draw_cluster(const Context& context, ImVec2 min, ImVec2 size);
/// What its figures are, and why a parameter keeps more there than the memory wall says.
std::string cluster_basis(const ClusterStudy& study);
/// The devices by stage and replica, and the pipeline's time (scaling_cluster_picture.cpp). Both return the
/// height they took.
float draw_devices(const Context& context, const ClusterStudy& study, ImVec2 min, ImVec2 size);
float draw_bubble(const Context& context, const ClusterStudy& study, ImVec2 min, ImVec2 size);

}  // namespace shardlens::ui
