// The Stage: one lane for each rank, one row for each step. This file puts a frame together: the shown
// result, scroll and zoom, and the item under the mouse. The functions of scene.h draw the visible rows.
// Every step has its items, also outside the view, so that keyboard, tests and scripts can reach them by
// name:
// "##stage_step_12" for a row, "##stage_step_12_rank_3" for a rank's tensor, "..._weight" for its weight.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/runtime/recordings/replay_snapshot.h"
#include "engine/runtime/snapshot.h"
#include "engine/train/train_snapshot.h"
#include "ui/collective/inside.h"
#include "ui/commands/commands.h"
#include "ui/frame/notice.h"
#include "ui/panels/faults/faults.h"
#include "ui/panels/panels.h"
#include "ui/plan/shown_plan.h"
#include "ui/product/product_view.h"
#include "ui/stage/meeting.h"
#include "ui/stage/motion.h"
#include "ui/stage/plan_change.h"
#include "ui/stage/scene.h"
#include "ui/stage/stage_view.h"
#include "ui/stage/strip.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"
#include "ui/widgets/tape.h"

namespace shardlens::ui {
namespace {

using namespace stage;

constexpr float kHeaderHeight = 36;
constexpr float kLeastZoom = 0.2f;
constexpr float kLeastFittedZoom = 0.02f;  // rows without text, but all of them
constexpr float kZoomPerNotch = 1.25f;
constexpr float kCellHeight = 18;  // the largest zoom gives an element this height, enough for its number
constexpr float kDragThreshold = 4;

bool dragged() {
  const float moved = ImGui::GetIO().MouseDragMaxDistanceSqr[ImGuiMouseButton_Left];
  return moved > kDragThreshold * kDragThreshold;
}

void select(const Scene& scene, const Row& row, TensorId tensor, int rank) {
  set_selection(scene.context.view, scene.program(), {row.step, tensor});
  scene.context.view.selected_rank = rank;
}

/// Returns the rank whose piece is under the mouse in a lane of several ranks.
int rank_under_mouse(const Scene& scene, const Row& row, const Lane& lane, const Rect& ghost) {
  const ImVec2 mouse = ImGui::GetMousePos();
  const Tensor& tensor = scene.program().tensor(row.tensor);
  if (tensor.layout.kind != LayoutKind::Sharded) return lane.first;
  for (int rank = lane.first; rank <= lane.last; ++rank) {
    for (const Piece& piece : pieces_of(tensor, scene.program().tp(), rank, ghost)) {
      if (piece.place.contains(mouse)) return rank;
    }
  }
  return lane.first;
}

/// Adds an invisible, clickable rectangle. Returns true if it was clicked and not dragged.
bool item(const std::string& id, const Rect& rect, bool overlapped) {
  ImGui::SetCursorScreenPos(rect.min);
  if (overlapped) ImGui::SetNextItemAllowOverlap();
  const bool clicked =
      ImGui::InvisibleButton(id.c_str(), {std::max(1.0f, rect.width()), std::max(1.0f, rect.height())});
  return clicked && !dragged();
}

/// A click on a lane's head selects its rank in every panel; another one takes that back.
void interact_with_heads(const Scene& scene, const Rect& room) {
  ImGui::PushItemFlag(ImGuiItemFlags_NoNav, true);
  for (const Lane& lane : scene.lanes)
    if (const auto head = lane_head(scene, lane, room);
        head && !lane.group() && item(fmt::format("head of rank {}", lane.first), *head, false))
      select_rank_or_all(scene.context.view, lane.first);
  ImGui::PopItemFlag();
}

/// Opens the row of the last item if it was double-clicked.
void open_if_double_clicked(const Scene& scene, const Row& row) {
  const bool twice =
      ImGui::IsItemHovered() && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left) && !dragged();
  if (row.step < 0 || !twice) return;
  select(scene, row, row.tensor, -1);
  if (can_open_row(scene.context)) open_or_close_row(scene.context);
}

/// Opens the number under the mouse if the result of a product is shown so large that it has numbers.
void open_number_under_mouse(const Scene& scene, const Row& row, const Rect& ghost) {
  const std::optional<Product> product = product_of(scene.program(), row.step);
  const MatrixShape full = matrix_shape(scene.program().tensor(row.tensor));
  const ImVec2 mouse = ImGui::GetMousePos();
  const float cell_width = ghost.width() / static_cast<float>(full.cols),
              cell_height = ghost.height() / static_cast<float>(full.rows);
  if (!product || product->out != row.tensor || !ghost.contains(mouse)) return;
  if (!has_room_for_numbers(scene, cell_width, cell_height)) return;
  open_number(scene.context, static_cast<int64_t>((mouse.y - ghost.min.y) / cell_height),
              static_cast<int64_t>((mouse.x - ghost.min.x) / cell_width));
}

void interact_with_row(const Scene& scene, size_t index) {
  const Row& row = scene.rows[index];
  if (row.kind == RowKind::Heading || row.kind == RowKind::Divider || row.kind == RowKind::Callout) return;
  const std::string name = row.kind == RowKind::Kept ? fmt::format("##stage_kept_{}", row.step)
                           : row.step >= 0           ? fmt::format("##stage_step_{}", row.step)
                                                     : fmt::format("##stage_tensor_{}", row.tensor);
  const bool tensor_row = draws_tensor(row.kind);
  const bool was_selected = scene.selected(row);
  const bool can_open = row.kind == RowKind::Band && !scene.stale;
  const auto is_pointed_at = [&] {
    return !scene.context.view.covered() && ImGui::IsItemHovered(ImGuiHoveredFlags_DelayShort);
  };
  if (item(name, scene.row_rect(index), true)) select(scene, row, row.tensor, -1);
  open_if_double_clicked(scene, row);
  const bool row_hovered =
      !scene.context.view.covered() &&
      ImGui::IsItemHovered(ImGuiHoveredFlags_DelayShort | ImGuiHoveredFlags_NoSharedDelay);
  if (row_hovered && row.step >= 0) step_tooltip(scene, row);
  for (const Lane& lane : scene.lanes) {
    Rect cell = scene.cell(index, lane);
    cell.min.x =
        std::max(cell.min.x, scene.lanes_view().min.x);  // the gutter covers cells that scroll under it
    if (cell.max.x <= cell.min.x) continue;
    const std::string cell_name = fmt::format("{}_rank_{}", name, lane.first);
    const Rect ghost = tensor_row ? ghost_of(scene.program().tensor(row.tensor), scene.largest,
                                             scene.tensor_room(scene.cell(index, lane)))
                                  : cell;
    if (item(cell_name, cell, tensor_row || can_open)) {
      select(scene, row, row.tensor, rank_under_mouse(scene, row, lane, ghost));
      if (can_open && was_selected) look_inside(scene.context, row.step);  // a second click
      if (tensor_row) open_number_under_mouse(scene, row, ghost);
    }
    open_if_double_clicked(scene, row);
    if (!scene.context.view.covered() && ImGui::IsItemHovered(ImGuiHoveredFlags_DelayShort)) {
      if (tensor_row) {
        tensor_tooltip(scene, row, row.tensor, rank_under_mouse(scene, row, lane, ghost));
      } else {
        step_tooltip(scene, row);
      }
    }
    const TensorId weight = row.matrix != kNoTensor ? row.matrix : row.vector;
    if (!tensor_row || weight == kNoTensor) continue;
    const Rect room = scene.weight_room(scene.cell(index, lane));
    if (room.max.x <= scene.lanes_view().min.x) continue;
    if (item(cell_name + "_weight", room, false)) select(scene, row, weight, lane.first);
    if (!scene.context.view.covered() && ImGui::IsItemHovered(ImGuiHoveredFlags_DelayShort))
      tensor_tooltip(scene, row, weight, lane.first);
  }
  if (const Rect button = band_button(scene, index); can_open && button.width() > 0) {
    if (item(name + "_inside", button, false)) look_inside(scene.context, row.step);
    if (is_pointed_at()) show_tooltip(scene.context, inside_hint());
  }
  if (const Rect button = why_button(scene, index); button.width() > 0) {
    if (item(name + "_why", button, false)) select(scene, row, row.tensor, -1);
    if (is_pointed_at())
      stage::sentence_tooltip(scene, "Why the ranks do not meet here",
                              explain_no_collective(scene.program(), row.tensor));
  }
}

}  // namespace

namespace stage {

void draw_rows(const Scene& scene, ImDrawList* list) {
  const size_t first = scene.stack.at(scene.scroll.y);
  const auto in_view = [&](const auto& draw) {
    for (size_t row = first; row < scene.rows.size() && scene.row_top(row) < scene.view.max.y; ++row)
      draw(row);
  };
  draw_plates(scene, list);
  in_view([&](size_t row) { draw_row_ground(scene, list, row); });
  // Three layers: ghosts, then all heatmaps in one call, then outlines. So the texture does not change
  // between heatmaps.
  const Rect lanes = scene.lanes_view();
  list->PushClipRect(lanes.min, lanes.max, true);
  split_layers(list, kLayers);
  in_view([&](size_t row) {
    if (!draws_tensor(scene.rows[row].kind)) return;
    for (const Lane& lane : scene.lanes) {
      const Rect cell = scene.cell(row, lane);
      if (cell.max.x >= lanes.min.x && cell.min.x <= lanes.max.x) draw_tensor_cell(scene, list, row, lane);
    }
  });
  join_layers(list);
  list->PopClipRect();
  in_view([&](size_t row) {
    switch (scene.rows[row].kind) {
      case RowKind::Band:
        draw_band(scene, list, row);
        break;
      case RowKind::Line:
        draw_line(scene, list, row);
        break;
      case RowKind::LeftOut:
        draw_left_out(scene, list, row);
        break;
      case RowKind::Heading:
      case RowKind::Divider:
        draw_divider(scene, list, row);
        break;
      case RowKind::Callout:  // over the shade
        break;
      default:
        draw_gutter(scene, list, row);
        draw_error(scene, list, row);
        draw_unequal(scene, list, row);
        break;
    }
  });
  in_view([&](size_t row) { draw_why(scene, list, row); });
  draw_shade(scene, list);
  in_view([&](size_t row) {
    if (scene.rows[row].kind == RowKind::Callout) draw_callout(scene, list, row);
  });
}

}  // namespace stage

namespace {

/// A stretch of the rows, in pixels from the top of the first row.
struct Stretch {
  float top = 0, bottom = 0;
};

/// The rows of the selected step; nothing if it has none here.
std::optional<Stretch> selected_stretch(const Scene& scene) {
  for (size_t row = 0; row < scene.rows.size(); ++row) {
    if (!scene.selected(scene.rows[row])) continue;
    size_t last = row;  // what is kept in place of a collective is a row of the same step
    while (last + 1 < scene.rows.size() && scene.selected(scene.rows[last + 1])) ++last;
    return Stretch{scene.stack.top[row], scene.stack.top[last] + scene.stack.height[last]};
  }
  return {};
}

/// From the first plate to the last one; nothing if there is none.
std::optional<Stretch> lit_stretch(const Scene& scene) {
  if (scene.plates.empty()) return {};
  const float zero = scene.view.min.y - scene.scroll.y;
  return Stretch{scene.plate_rect(scene.plates.front()).min.y - zero,
                 scene.plate_rect(scene.plates.back()).max.y - zero};
}

/// The scroll position that makes the selection visible, as near as possible to the present one.
float scroll_to_selection(const Scene& scene, const Stretch& selected) {
  const float margin = scene.px(48);
  const float from = scene.context.view.scroll_from_top ? 0 : scene.scroll.y;
  if (selected.top - margin < from) return std::max(0.0f, selected.top - margin);
  if (selected.bottom + margin > from + scene.view.height())
    return selected.bottom + margin - scene.view.height();
  return from;
}

/// The scroll position that shows a stretch in the middle of the panel, or its first rows if it is higher.
float scroll_to_middle(const Scene& scene, const Stretch& stretch) {
  const float room = scene.view.height() - (stretch.bottom - stretch.top);
  return std::max(0.0f, stretch.top - std::max(scene.px(kRowGap), room / 2));
}

/// Brings the selection into view if that is wanted, and the lit rows if they are new: both, or the selection
/// where they are too far apart.
void scroll_to_what_counts(const Scene& scene) {
  ViewState& view = scene.context.view;
  const bool is_new = is_new_light(view, scene.plan, scene.view.width(), scene.view.height());
  if (view.of<StageView>().fitted) return;
  std::optional<Stretch> lit, selected;
  if (is_new || view.scroll_from_top) lit = lit_stretch(scene);
  if (view.scroll_to_selection) selected = selected_stretch(scene);
  if (lit) {
    Stretch both = *lit;
    if (selected) both = {std::min(lit->top, selected->top), std::max(lit->bottom, selected->bottom)};
    const bool selected_is_lit = both.top == lit->top && both.bottom == lit->bottom;
    if (selected_is_lit || both.bottom - both.top <= scene.view.height())
      return ImGui::SetScrollY(scroll_to_middle(scene, both));
  }
  if (selected) ImGui::SetScrollY(scroll_to_selection(scene, *selected));
}

/// Returns the zoom at which an element is high enough to show its number.
float most_zoom(const Scene& scene) {
  const float wanted = kCellHeight * static_cast<float>(scene.largest.rows) / (kTensorRow * 0.84f);
  return std::max(4.0f, wanted);
}

/// Zooms about the mouse: the row and the column under it stay where they are.
void zoom_about_mouse(const Scene& scene, float factor) {
  const float zoom = std::clamp(scene.zoom * factor, kLeastZoom, most_zoom(scene));
  // Zooming out of a part at the smallest zoom goes back to the whole model.
  if (factor < 1 && zoom == scene.zoom) scene.context.view.open_section = kWholeModel;
  if (zoom == scene.zoom) return;
  const ImVec2 mouse = ImGui::GetMousePos();
  const float y = mouse.y - scene.view.min.y + scene.scroll.y;
  const size_t row = scene.stack.at(y);
  const float share =
      std::clamp((y - scene.stack.top[row]) / std::max(1.0f, scene.stack.height[row]), 0.0f, 1.0f);
  const Stack stack = stack_rows(scene.rows, zoom, scene.context.view.ui_scale());
  const float across = std::max(1.0f, zoom) / std::max(1.0f, scene.zoom);
  const float x = std::max(0.0f, mouse.x - scene.lanes_view().min.x);
  scene.context.view.stage_zoom = zoom;
  scene.context.view.of<StageView>().fitted = false;
  ImGui::SetScrollY(
      std::max(0.0f, stack.top[row] + share * stack.height[row] - (mouse.y - scene.view.min.y)));
  ImGui::SetScrollX(std::max(0.0f, (x + scene.scroll.x) * across - x));
}

void navigate(const Scene& scene) {
  ImGuiIO& io = ImGui::GetIO();
  const bool hovered = ImGui::IsWindowHovered(ImGuiHoveredFlags_AllowWhenBlockedByActiveItem);
  if (hovered && io.KeyCtrl && io.MouseWheel != 0) {
    zoom_about_mouse(scene, std::pow(kZoomPerNotch, io.MouseWheel));
    return;
  }
  // Dragging moves the content with the mouse, from any place.
  ImGuiStorage* storage = ImGui::GetStateStorage();
  const ImGuiID held = ImGui::GetID("##stage_held");
  if (hovered && ImGui::IsMouseClicked(ImGuiMouseButton_Left)) storage->SetBool(held, true);
  if (!ImGui::IsMouseDown(ImGuiMouseButton_Left)) storage->SetBool(held, false);
  if (storage->GetBool(held) && dragged()) {
    ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeAll);
    ImGui::SetScrollY(scene.scroll.y - io.MouseDelta.y);
    ImGui::SetScrollX(scene.scroll.x - io.MouseDelta.x);
  }
}

/// Draws the button that fits the rows into the panel, or goes back, at the right of the corner, beside the
/// head of the errors. Returns its width.
float draw_fit_button(const Scene& scene, ImDrawList* list, Rect room) {
  if (Tape::current() != nullptr) return 0;  // on a page nothing can be clicked
  const Context& context = scene.context;
  const UiCommand& command = find_command("view.fit");
  const char* const word = context.view.of<StageView>().fitted ? "Back" : "Fit";
  TextStyle style = scene.text(context.fonts.body, kSmallSize, context.theme.text);
  const float width = text_width(style, "Back") + scene.px(16), height = style.size + scene.px(8);
  const float errors = errors_width(scene);
  const float right = room.min.x + scene.measure.gutter - scene.px(8) - errors;
  const ImVec2 min{std::round(right - width), std::round((room.min.y + room.max.y - height) / 2)};
  const ImVec2 max{right, min.y + height};
  ImGui::SetCursorScreenPos(min);
  if (click_area("fit", {width, height})) command.run(context);
  fill_rect(list, min, max, context.theme.card, scene.px(4));
  outline_rect(list, min, max, ImGui::IsItemHovered() ? context.theme.faint : context.theme.line,
               scene.px(4));
  draw_text(list, {(min.x + max.x) / 2, min.y + scene.px(4)}, style, word, Align::Centre);
  tooltip(context, title_with_key(command) + "\n" + command.help);
  return width + scene.px(8);
}

/// Draws the corner left of the lane heads: the position in the Program.
void draw_corner(const Scene& scene, ImDrawList* list, Rect room) {
  const float button = draw_fit_button(scene, list, room);
  const Snapshot& snapshot = scene.context.snapshot;
  const size_t steps = scene.program().steps.size();
  std::vector<std::string> forms;
  if (!scene.result) {
    forms = {scene.context.snapshot.only_planned() ? "planned, not run" : "estimated, not run", "not run"};
  } else if (const StepId selected = scene.context.view.selected_step; selected >= 0) {
    forms = {"step " + number_of(selected, steps), fmt::format("step {}", selected)};
  } else {
    const std::string done = fmt::format("{} of {}", scene.stale ? steps : snapshot.position, steps);
    forms = {done + " steps done", done + " steps", done};
  }
  const TextStyle style = scene.text(scene.context.fonts.body, kSmallSize, scene.context.theme.dim);
  draw_text(list, {room.min.x + scene.measure.pad, (room.min.y + room.max.y) / 2 - style.size * 0.56f}, style,
            longest_fitting(style, forms,
                            scene.measure.gutter - errors_width(scene) - 2 * scene.measure.pad - button));
}

/// Draws a notice above an out-of-date picture, over the whole width; returns its height.
float draw_notice(const Context& context, ImDrawList* list, const std::string& said, ImVec2 at, float width) {
  const Theme& theme = context.theme;
  const TextStyle words{context.fonts.body, std::round(context.px(kBodySize)), theme.text};
  const float pad = context.px(10), inner = width - 2 * pad;
  const float height = pad + wrapped_height(words, said, inner) + pad;
  fill_rect(list, at, {at.x + width, at.y + height}, theme.card);
  fill_rect(list, at, {at.x + context.px(4), at.y + height}, theme.text);
  draw_wrapped(list, {at.x + pad, at.y + pad}, words, said, inner);
  return height;
}

/// Notes which plan of the settings is shown, and what changed since the one before. A click ends the note.
/// Recordings, frozen training steps and planted mistakes have plans of their own, which are no change.
const PlanChange& change_to(const Context& context, const std::shared_ptr<const Plan>& plan) {
  static const PlanChange none;
  auto& view = context.view.of<ChangeView>();
  if (context.replay.is_open() || context.train.frozen || seen_break(context)) return none;
  if (plan != view.plan) {
    view.change = view.plan && plan ? plan_change(*view.plan, *plan) : PlanChange{};
    view.plan = plan;
  } else if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) {
    view.change = {};
  }
  return view.change;
}

/// Draws what the last change of the settings did, on one line; returns its height.
float draw_change(const Context& context, ImDrawList* list, const PlanChange& change, ImVec2 at,
                  float width) {
  if (change.title.empty()) return 0;
  const Theme& theme = context.theme;
  const TextStyle title{context.fonts.bold, std::round(context.px(kBodySize)), theme.text};
  const TextStyle figures{context.fonts.body, std::round(context.px(kBodySize)), theme.text};
  const TextStyle small{context.fonts.body, std::round(context.px(kSmallSize)), theme.dim};
  const float pad = context.px(10), line = title.size + context.px(6);
  std::string marks;
  if (std::find(change.came.begin(), change.came.end(), true) != change.came.end())
    marks = "+ marks the steps that are new";
  if (!change.left.empty())
    marks += fmt::format("{}Gone: {}", marks.empty() ? "" : ".  ", fmt::join(change.left, ", "));
  const float beside = text_width(title, change.title) + context.px(16);
  const bool one_line = beside + text_width(figures, change.figures) <= width - 2 * pad;
  const float height = pad + line * (one_line ? 1.0f : 2.0f) + (marks.empty() ? 0 : line) + context.px(4);
  fill_rect(list, at, {at.x + width, at.y + height}, theme.card);
  fill_rect(list, at, {at.x + context.px(4), at.y + height}, theme.forward);
  ImVec2 pen(at.x + pad, at.y + pad);
  draw_text(list, pen, title, change.title);
  if (one_line)
    draw_text(list, {pen.x + beside, pen.y}, figures, change.figures);
  else
    draw_text(list, {pen.x, pen.y += line}, figures, fitted(figures, change.figures, width - 2 * pad));
  if (!marks.empty()) draw_text(list, {pen.x, pen.y + line}, small, fitted(small, marks, width - 2 * pad));
  return height;
}

}  // namespace

void draw_stage(const Context& context) {
  const Snapshot& snapshot = context.snapshot;
  if (shows_open_row(context)) return draw_open_row(context);
  auto& opened = context.view.of<ProductView>();
  opened.open = opened.derivation = false;  // another step was selected
  // Rows have their own margins, so they also use half of the window's padding; but not at the bottom, where
  // that would make the window scrollable.
  const float reach = std::floor(ImGui::GetCursorStartPos().x / 2);
  const ImVec2 origin = ImGui::GetCursorScreenPos() - ImVec2(reach, reach);
  const ImVec2 corner = ImGui::GetCursorScreenPos() + ImGui::GetContentRegionAvail() + ImVec2(reach, 0);
  const ImVec2 room = corner - origin;
  if (room.x < context.px(200) || room.y < context.px(80)) return;
  ImDrawList* list = ImGui::GetWindowDrawList();

  // The last result is shown until a newer one exists. A plan without a result shows only ghosts.
  const bool stale = shows_stale(snapshot);
  const std::shared_ptr<const Result> result = shown_result(snapshot);
  const std::shared_ptr<const Plan> plan = shared_shown_plan(snapshot);

  float top = origin.y;
  const std::string said = has_stopped(snapshot) ? "" : notice(snapshot, context.wanted());
  const float margin = context.px(8);
  if (!said.empty() && plan) {
    const ImVec2 at{origin.x + margin, top + margin};
    top = at.y + draw_notice(context, list, said, at, room.x - 2 * margin);
  }
  if (!plan) {
    const TextStyle style{context.fonts.body, std::round(context.px(kBodySize)), context.theme.dim};
    draw_text(list, {origin.x + room.x / 2, origin.y + room.y / 3}, style, no_plan_words(context),
              Align::Centre);
    return;
  }

  if (const PlanChange& change = change_to(context, plan); !change.title.empty())
    top +=
        draw_change(context, list, change, {origin.x + margin, top + margin}, room.x - 2 * margin) + margin;

  if (is_whole_model(plan->program)) {
    const Rect rest{{origin.x, top}, {origin.x + room.x, origin.y + room.y}};
    if (context.view.open_section == kWholeModel) return draw_strip(context, plan, result, rest);
    top += draw_breadcrumb(context, *plan, sections_of(plan), rest);
    if (context.view.open_section == kWholeModel) return;  // closed by a click: the strip is drawn next
  }

  const float header = std::round(context.px(kHeaderHeight));
  const ImVec2 rows_min(origin.x, top + header), rows_max(origin.x + room.x, origin.y + room.y);
  if (rows_max.y - rows_min.y < context.px(40)) return;

  // The content's size depends on the zoom, so it is known before the scrolling child begins.
  const float bar = ImGui::GetStyle().ScrollbarSize;
  const Rect view{rows_min, {rows_max.x - bar, rows_max.y}};
  StageView& state = context.view.of<StageView>();
  if (state.fitted) {
    context.view.stage_zoom =
        fitting_zoom(make_scene(context, plan, result, stale, view, {0, 0}).rows,
                     view.height() - context.px(8), context.view.ui_scale(), kLeastFittedZoom);
    ImGui::SetNextWindowScroll({0, 0});
  } else if (std::exchange(state.goes_back, false)) {
    ImGui::SetNextWindowScroll(state.scroll_before);
  }
  Scene scene = make_scene(context, plan, result, stale, view, {0, 0});
  const Lane& last = scene.lanes.back();
  ImGui::SetNextWindowContentSize(
      {scene.measure.gutter + last.x + last.width + scene.measure.pad - scene.px(2),
       scene.stack.total + context.px(8)});
  ImGui::SetCursorScreenPos(rows_min);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
  const bool open = ImGui::BeginChild("##stage_rows", {room.x, rows_max.y - rows_min.y}, ImGuiChildFlags_None,
                                      ImGuiWindowFlags_HorizontalScrollbar | ImGuiWindowFlags_NoNav |
                                          ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoBackground);
  ImGui::PopStyleVar();
  if (open) {
    scene.scroll = {ImGui::GetScrollX(), ImGui::GetScrollY()};
    scene.interactive = true;
    if (!state.fitted) {
      state.zoom_before = context.view.stage_zoom;
      state.scroll_before = scene.scroll;
    }
    draw_rows(scene, ImGui::GetWindowDrawList());
    draw_motion(scene, ImGui::GetWindowDrawList());
    for (size_t row = 0; row < scene.rows.size(); ++row) interact_with_row(scene, row);
    scroll_to_what_counts(scene);
    navigate(scene);
  }
  ImGui::EndChild();

  const Rect heads{{origin.x, top}, {rows_max.x, top + header}};
  draw_corner(scene, list, heads);
  draw_errors_head(scene, list, heads);
  draw_lane_heads(scene, list, heads);
  interact_with_heads(scene, heads);
}

}  // namespace shardlens::ui
