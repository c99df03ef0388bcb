// Motion on the Stage: when the selection goes on to another step, what the step reads moves to where its
// result stands, and then all is still. Every move follows from the Program: a step that computes moves the
// pieces of its lane, a collective moves every rank's piece to the middle, where they are summed or put
// together, and from there to the ranks that hold the result.
#pragma once

#include <memory>
#include <vector>

#include "engine/runtime/snapshot.h"
#include "ui/stage/scene.h"

namespace shardlens::ui {

struct MotionView {
  bool on = true;                    ///< remembered between starts
  std::shared_ptr<const Plan> plan;  ///< whose step was selected in the last frame
  StepId step = -1;                  ///< that step
  double began_seconds = -1;         ///< ImGui's time when `step` was reached; -1: nothing moves
};

namespace stage {

/// One rectangle of a tensor on its way.
struct Move {
  TensorId tensor = kNoTensor;
  int rank = 0;
  Rect from, to;
  ImVec2 uv0, uv1;           ///< the part of the rank's piece that it shows
  float begin = 0, end = 1;  ///< the share of the motion in which it is seen
};

/// What moves when `step` is reached, on the screen. Empty: the step stands in no row, or its inputs do not.
std::vector<Move> moves_to(const Scene& scene, StepId step);

/// Where it is after this share of the motion: it starts and stops slowly.
Rect place_of(const Move& move, float share);

/// Begins a motion if a later step of the same plan was selected, and draws the one that is under way.
void draw_motion(const Scene& scene, ImDrawList* list);

}  // namespace stage
}  // namespace shardlens::ui
