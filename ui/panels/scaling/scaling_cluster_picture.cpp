// The picture of the cluster: a box is a group of T devices, a column is a stage of the model, a row is a
// replica of it; boxes that touch share a node. A second picture shows the pipeline's time, with its bubble.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/base/counted.h"
#include "engine/runtime/session/scaling_snapshot.h"
#include "ui/panels/scaling/scaling_parts.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"
#include "ui/widgets/within.h"

namespace shardlens::ui {
namespace {

/// The places of the boxes.
struct Grid {
  int64_t stages = 1, replicas = 1, shown = 1;  ///< `shown`: how many of the replicas are drawn
  int64_t tp = 1, node = 1;
  ImVec2 at;
  float cell_width = 0, cell_height = 0;

  /// Ranks count through the T of a group, then the replicas, then the stages.
  int64_t first_rank(int64_t stage, int64_t replica) const { return (stage * replicas + replica) * tp; }
  bool share_a_node(int64_t stage, int64_t replica, int64_t other_stage, int64_t other_replica) const {
    return first_rank(stage, replica) / node == first_rank(other_stage, other_replica) / node && tp <= node;
  }
};

Grid grid_of(const Context& context, const ClusterStudy& study, ImVec2 at, ImVec2 size) {
  Grid grid;
  grid.stages = study.stages;
  grid.replicas = study.settings.dp;
  grid.tp = study.settings.tp;
  grid.node = study.hardware.ranks_per_node;
  grid.at = at;
  const float least = context.px(5), most = context.px(44);
  grid.shown = within<int64_t>(static_cast<int64_t>(size.y / least), 1, grid.replicas);
  grid.cell_width = within(size.x / static_cast<float>(grid.stages), 1.0f, most);
  grid.cell_height = within(size.y / static_cast<float>(grid.shown), 1.0f, most);
  return grid;
}

/// Draws a box. A gap separates it from boxes of other nodes, and lines divide a group of several nodes.
void draw_group(const Context& context, const Grid& grid, int64_t stage, int64_t replica, bool lit) {
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float gap = std::min(context.px(2), std::min(grid.cell_width, grid.cell_height) * 0.2f);
  ImVec2 from{grid.at.x + static_cast<float>(stage) * grid.cell_width,
              grid.at.y + static_cast<float>(replica) * grid.cell_height};
  ImVec2 to{from.x + grid.cell_width, from.y + grid.cell_height};
  const auto apart = [&](int64_t other_stage, int64_t other_replica) {
    const bool there =
        other_stage >= 0 && other_stage < grid.stages && other_replica >= 0 && other_replica < grid.replicas;
    return !there || !grid.share_a_node(stage, replica, other_stage, other_replica);
  };
  const float seam = grid.cell_width > 8 && grid.cell_height > 8 ? 0.5f : 0.0f;
  from.x += apart(stage - 1, replica) ? gap : seam;
  from.y += apart(stage, replica - 1) ? gap : seam;
  to.x -= apart(stage + 1, replica) ? gap : seam;
  to.y -= apart(stage, replica + 1) ? gap : seam;
  const bool end = stage == 0 || stage + 1 == grid.stages;
  list->AddRectFilled(from, to, lit ? theme.text : end ? theme.forward : faded(theme.forward, 0.55f));
  for (int64_t part = 1; part < grid.tp / grid.node; ++part) {
    const float y =
        from.y + (to.y - from.y) * static_cast<float>(part * grid.node) / static_cast<float>(grid.tp);
    list->AddLine({from.x, y}, {to.x, y}, theme.window, std::max(1.0f, context.px(1.5f)));
  }
}

std::string about(const ClusterStudy& study, const Grid& grid, int64_t stage, int64_t replica) {
  const int64_t layers = study.settings.model.layers, each = study.price.pipeline.stage_layers;
  const int64_t first = std::min(stage * each, layers - 1), last = std::min(first + each, layers) - 1;
  const int64_t rank = grid.first_rank(stage, replica);
  std::string ends;
  if (stage == 0) ends += " and the embedding";
  if (stage + 1 == grid.stages) ends += " and the loss";
  const int64_t first_node = rank / grid.node, last_node = (rank + grid.tp - 1) / grid.node;
  return fmt::format("stage {} of {}, replica {} of {}\nlayers {} to {}{}\nranks {} to {}, {}", stage + 1,
                     grid.stages, replica + 1, grid.replicas, first, last, ends, rank, rank + grid.tp - 1,
                     first_node == last_node ? fmt::format("node {}", first_node)
                                             : fmt::format("nodes {} to {}", first_node, last_node));
}

/// The bytes that travel in a box, along a row and down a column, and the links that carry them.
std::vector<std::string> ways(const ClusterStudy& study) {
  const Settings& s = study.settings;
  const ModelPrice& price = study.price;
  const auto bytes = [](int64_t count) { return bytes_text(static_cast<double>(count)); };
  const auto wires = [](bool crosses) { return crosses ? "InfiniBand" : "NVLink"; };
  std::vector<std::string> lines;
  if (s.tp > 1)
    lines.push_back(fmt::format("in a box: {} collectives, each device sends {}, {}",
                                grouped_text(price.sum.tp_collectives), bytes(price.sum.tp_sent_bytes),
                                wires(tp_ring(s.tp, s.dp, study.hardware).crosses_nodes)));
  if (study.stages > 1)
    lines.push_back(fmt::format("along a row: {} a micro-batch and hop, {} in all, {}",
                                bytes(price.pipeline.hop_bytes), bytes(price.pipeline.sent_bytes),
                                wires(price.ranks > study.hardware.ranks_per_node)));
  if (s.dp > 1)
    lines.push_back(fmt::format("down a column: gradients, each device sends {}, {}",
                                bytes(price.sum.dp_sent_bytes),
                                wires(dp_ring(s.tp, s.dp, study.hardware).crosses_nodes)));
  return lines;
}

}  // namespace

float draw_devices(const Context& context, const ClusterStudy& study, ImVec2 min, ImVec2 size) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const Pipeline& pipeline = study.price.pipeline;
  const std::string title =
      fmt::format("A box is T = {}; columns are P = {} stages of {}, rows D = {}", study.settings.tp,
                  study.stages, counted(pipeline.stage_layers, "layer"), study.settings.dp);
  const std::vector<std::string> lines = ways(study);
  const float gap = context.px(3);
  const float head = draw_wrapped(list, min, type.strong, title, size.x) + context.px(8);
  float foot = type.note.size + gap;
  for (const std::string& way : lines) foot += wrapped_height(type.note, way, size.x) + gap;
  const ImVec2 at{min.x, min.y + head};
  const ImVec2 room{size.x, std::max(context.px(40), size.y - head - foot - context.px(6))};
  const Grid grid = grid_of(context, study, at, room);
  const float width = grid.cell_width * static_cast<float>(grid.stages),
              height = grid.cell_height * static_cast<float>(grid.shown);
  ImGui::SetCursorScreenPos(at);
  ImGui::InvisibleButton("devices", {width, height});
  int64_t lit_stage = -1, lit_replica = -1;
  if (ImGui::IsItemHovered()) {
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    lit_stage = within<int64_t>(static_cast<int64_t>((mouse.x - at.x) / grid.cell_width), 0, grid.stages - 1);
    lit_replica =
        within<int64_t>(static_cast<int64_t>((mouse.y - at.y) / grid.cell_height), 0, grid.shown - 1);
    show_tooltip(context, about(study, grid, lit_stage, lit_replica));
  }
  for (int64_t stage = 0; stage < grid.stages; ++stage) {
    for (int64_t replica = 0; replica < grid.shown; ++replica)
      draw_group(context, grid, stage, replica, stage == lit_stage && replica == lit_replica);
  }
  float y = at.y + height + context.px(6);
  std::string nodes = fmt::format("boxes that touch share a node of {}", grid.node);
  if (grid.tp >= grid.node)
    nodes = grid.tp == grid.node ? fmt::format("a box is a node of {}", grid.node)
                                 : fmt::format("a box is {} nodes of {}", grid.tp / grid.node, grid.node);
  nodes += "; in full colour: with the embedding or the loss";
  if (grid.shown < grid.replicas)
    nodes += fmt::format("; {} more replicas like these are not drawn", grid.replicas - grid.shown);
  y += draw_wrapped(list, {min.x, y}, in(type.note, context.theme.text), nodes, size.x) + gap;
  for (const std::string& way : lines) y += draw_wrapped(list, {min.x, y}, type.note, way, size.x) + gap;
  return y - min.y;
}

float draw_bubble(const Context& context, const ClusterStudy& study, ImVec2 min, ImVec2 size) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const Pipeline& pipeline = study.price.pipeline;
  const PipelineSchedule& schedule = study.schedule;
  if (study.stages == 1) {
    draw_text(list, min, type.strong, "One stage: no bubble");
    return draw_wrapped(list, {min.x, min.y + type.strong.size + context.px(8)}, type.note,
                        "With more stages, each stage works on its own part of the batch, and waits while "
                        "the pipeline fills and drains.",
                        size.x) +
           type.strong.size + context.px(8);
  }
  draw_text(
      list, min, type.strong,
      fitted(type.strong, "Bubble: stages wait " + format_percent(pipeline.bubble_fraction) + " of the time",
             size.x));
  const int parts = study.settings.micro_batches;
  std::string words = fmt::format("(P − 1) / (m + P − 1) = {} / {}, m = {} micro-batches.", study.stages - 1,
                                  parts + study.stages - 1, parts);
  if (schedule.stages != study.stages || schedule.parts != parts)
    words += fmt::format(" Drawn with {} stages and {} micro-batches: {}.", schedule.stages, schedule.parts,
                         format_percent(schedule.idle_share()));
  words += " First forward, then backward; grey is waiting.";
  const float foot = wrapped_height(type.note, words, size.x);
  const float head = type.strong.size + context.px(8);
  const ImVec2 at{min.x, min.y + head};
  const float height = within(size.y - head - foot - context.px(8), context.px(40),
                              context.px(20) * static_cast<float>(schedule.stages));
  const float row = height / static_cast<float>(schedule.stages);
  const double scale = static_cast<double>(size.x) / schedule.length;
  for (int stage = 0; stage < schedule.stages; ++stage)
    fill_rect(list, {at.x, at.y + row * static_cast<float>(stage)},
              {at.x + size.x, at.y + row * static_cast<float>(stage + 1) - 1}, theme.ghost);
  for (const PipelineSlot& slot : schedule.slots) {
    const float top = at.y + row * static_cast<float>(slot.stage);
    const ImVec2 from{at.x + static_cast<float>(slot.begin * scale), top};
    const ImVec2 to{at.x + static_cast<float>(slot.end * scale), top + row - 1};
    const float seam = to.x - from.x > 3 ? 1.0f : 0.0f;
    list->AddRectFilled(
        from, {to.x - seam, to.y},
        faded(slot.forward ? theme.forward : theme.backward, slot.part % 2 == 0 ? 1.0f : 0.8f));
  }
  draw_wrapped(list, {at.x, at.y + height + context.px(6)}, type.note, words, size.x);
  return head + height + context.px(6) + foot;
}

}  // namespace shardlens::ui
