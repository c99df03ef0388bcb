#include "ui/stage/motion.h"

#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "ui/widgets/paint.h"

namespace shardlens::ui::stage {
namespace {

constexpr double kComputeSeconds = 0.45, kMeetingSeconds = 0.9;
constexpr float kValues = 0.75f, kColour = 0.45f;  ///< how opaque a moving piece is

std::optional<size_t> row_of_step(const Scene& scene, StepId step) {
  for (size_t row = 0; row < scene.rows.size(); ++row)
    if (scene.rows[row].step == step) return row;
  return {};
}

/// The nearest row above `below` where the tensor is: one that draws it, or the band that makes it. What an
/// identity hands on stands where its input does.
std::optional<size_t> row_of_tensor(const Scene& scene, TensorId tensor, size_t below) {
  const StepId made = producer_of(scene.program(), tensor);
  const bool is_handed_on = made >= 0 && scene.program().step(made).op == Op::Identity;
  if (is_handed_on) tensor = scene.program().step(made).inputs.front();
  const StepId maker = is_handed_on ? producer_of(scene.program(), tensor) : made;
  for (size_t row = below; row-- > 0;) {
    const Row& above = scene.rows[row];
    const bool draws_it = above.tensor == tensor && draws_tensor(above.kind);
    if (draws_it || (above.step >= 0 && above.step == maker && above.kind == RowKind::Band)) return row;
  }
  return {};
}

Rect ghost_at(const Scene& scene, TensorId tensor, size_t row, const Lane& lane) {
  return ghost_of(scene.program().tensor(tensor), scene.largest, scene.tensor_room(scene.cell(row, lane)));
}

std::vector<Piece> pieces_in(const Scene& scene, TensorId tensor, int rank, const Rect& ghost) {
  return pieces_of(scene.program().tensor(tensor), scene.program().tp(), rank, ghost);
}

Rect around(const std::vector<Piece>& pieces) {
  Rect all = pieces.front().place;
  for (const Piece& piece : pieces) {
    all.min = {std::min(all.min.x, piece.place.min.x), std::min(all.min.y, piece.place.min.y)};
    all.max = {std::max(all.max.x, piece.place.max.x), std::max(all.max.y, piece.place.max.y)};
  }
  return all;
}

bool converts(Op op) {
  return is_collective(op) || op == Op::Slice;
}

/// The place of a whole tensor in a band, in the middle of all lanes.
Rect middle_of(const Scene& scene, TensorId tensor, size_t row) {
  const Rect first = ghost_at(scene, tensor, row, scene.lanes.front()),
             last = ghost_at(scene, tensor, row, scene.lanes.back());
  const float away = (last.min.x - first.min.x) / 2;
  return {{first.min.x + away, first.min.y}, {first.max.x + away, first.max.y}};
}

/// Each piece of a tensor from its place in one ghost to its place in another.
void add_moves(const Scene& scene, TensorId tensor, int rank, const Rect& from, const Rect& to, float begin,
               float end, std::vector<Move>& moves) {
  const std::vector<Piece> here = pieces_in(scene, tensor, rank, from),
                           there = pieces_in(scene, tensor, rank, to);
  for (size_t i = 0; i < here.size(); ++i)
    moves.push_back({tensor, rank, here[i].place, there[i].place, here[i].uv0, here[i].uv1, begin, end});
}

std::vector<Move> moves_of_conversion(const Scene& scene, const Step& step, size_t row) {
  std::vector<Move> moves;
  if (step.inputs.empty() || step.outputs.empty()) return moves;
  const TensorId in = step.inputs.front(), out = step.outputs.front();
  const std::optional<size_t> source = row_of_tensor(scene, in, row);
  if (!source) return moves;
  const bool meets = is_collective(step.op);
  for (const Lane& lane : scene.lanes)
    for (int rank = lane.first; rank <= lane.last; ++rank) {
      const Rect from = ghost_at(scene, in, *source, lane), to = ghost_at(scene, out, row, lane);
      if (!meets) {
        add_moves(scene, out, rank, from, to, 0, 1, moves);
        continue;
      }
      add_moves(scene, in, rank, from, middle_of(scene, in, row), 0, 0.5f, moves);
      add_moves(scene, out, rank, middle_of(scene, out, row), to, 0.5f, 1, moves);
    }
  return moves;
}

/// In each lane, what the step reads moves onto what it writes. A weight stands beside its result already.
std::vector<Move> moves_of_computing(const Scene& scene, const Step& step, size_t row) {
  std::vector<Move> moves;
  const TensorId out = scene.rows[row].tensor;
  if (out == kNoTensor) return moves;
  for (const TensorId in : step.inputs) {
    const std::optional<size_t> source = row_of_tensor(scene, in, row);
    if (!source) continue;
    for (const Lane& lane : scene.lanes)
      for (int rank = lane.first; rank <= lane.last; ++rank) {
        const std::vector<Piece> to = pieces_in(scene, out, rank, ghost_at(scene, out, row, lane));
        if (to.empty()) continue;
        for (const Piece& piece : pieces_in(scene, in, rank, ghost_at(scene, in, *source, lane)))
          moves.push_back({in, rank, piece.place, around(to), piece.uv0, piece.uv1, 0, 1});
      }
  }
  return moves;
}

void draw_move(const Scene& scene, ImDrawList* list, const Move& move, float share) {
  if (share < move.begin || share >= move.end) return;
  const Theme& theme = scene.context.theme;
  const Rect place = place_of(move, share);
  const LayoutKind kind = scene.program().tensor(move.tensor).layout.kind;
  const ImU32 colour = theme.rank_outlines[move.rank % 8];
  if (const auto sample = scene.sample(move.tensor, move.rank))
    scene.context.heatmaps.draw(list, place.min, place.max, sample, sample->picture, scene.scale(move.tensor),
                                move.uv0, move.uv1, kValues);
  else
    fill_rect(list, place.min, place.max, faded(theme.ranks[move.rank % 8], kColour));
  if (kind == LayoutKind::Partial)
    draw_dashed_rect(list, place.min, place.max, theme.communication, std::max(1.0f, scene.px(1.5f)),
                     scene.px(5));
  else
    outline_rect(list, place.min, place.max, kind == LayoutKind::Sharded ? colour : theme.dim, 0,
                 scene.px(1.5f));
}

double seconds_of(const Scene& scene, StepId step) {
  const double seconds = is_collective(scene.program().step(step).op) ? kMeetingSeconds : kComputeSeconds;
  return scene.context.view.playing ? seconds / std::max(1.0f, scene.context.view.walk_speed) : seconds;
}

}  // namespace

std::vector<Move> moves_to(const Scene& scene, StepId step) {
  const std::optional<size_t> row = row_of_step(scene, step);
  if (!row || scene.lanes.empty()) return {};
  const Step& reached = scene.program().step(step);
  return converts(reached.op) ? moves_of_conversion(scene, reached, *row)
                              : moves_of_computing(scene, reached, *row);
}

Rect place_of(const Move& move, float share) {
  const float t = std::clamp((share - move.begin) / (move.end - move.begin), 0.0f, 1.0f);
  const float eased = t * t * (3 - 2 * t);
  const auto between = [&](ImVec2 a, ImVec2 b) {
    return ImVec2(a.x + (b.x - a.x) * eased, a.y + (b.y - a.y) * eased);
  };
  return {between(move.from.min, move.to.min), between(move.from.max, move.to.max)};
}

void draw_motion(const Scene& scene, ImDrawList* list) {
  auto& motion = scene.context.view.of<MotionView>();
  const StepId selected = scene.context.view.selected_step;
  if (motion.plan != scene.plan || motion.step != selected) {
    const bool goes_on =
        motion.on && !scene.stale && motion.plan == scene.plan && motion.step >= 0 && selected > motion.step;
    motion.began_seconds = goes_on ? ImGui::GetTime() : -1;
    motion.plan = scene.plan;
    motion.step = selected;
  }
  if (motion.began_seconds < 0) return;
  const double share = (ImGui::GetTime() - motion.began_seconds) / seconds_of(scene, selected);
  if (share >= 1 || !motion.on) {
    motion.began_seconds = -1;
    return;
  }
  const Rect room = scene.lanes_view();
  list->PushClipRect(room.min, room.max, true);
  for (const Move& move : moves_to(scene, selected)) draw_move(scene, list, move, static_cast<float>(share));
  list->PopClipRect();
}

}  // namespace shardlens::ui::stage
