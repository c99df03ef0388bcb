// How each matrix is cut: a card per weight matrix with a picture of the cut in the ranks' colours. The
// picture is drawn from the planned weight's own placements, so a fused QKV shows its three groups of
// stripes. A click on a picture chooses the next cut.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <array>

#include "engine/config/splits.h"
#include "engine/program/operation.h"
#include "engine/runtime/snapshot.h"
#include "ui/panels/setup/setup.h"
#include "ui/plan/shown_plan.h"
#include "ui/settings/remedies.h"
#include "ui/stage/lanes.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/form.h"
#include "ui/widgets/paint.h"

namespace shardlens::ui {
namespace {

MatrixShape shape_of(const MatrixCut& matrix, const Model& model) {
  if (matrix.cut == &Split::attn_qkv)
    return {model.hidden, model.hidden + 2 * model.key_heads() * model.head_dim()};
  if (matrix.cut == &Split::attn_proj) return {model.hidden, model.hidden};
  if (matrix.cut == &Split::mlp_fc) return {model.hidden, model.ffn};
  return {model.ffn, model.hidden};
}

/// With grouped queries, keys and values have a matrix of their own. It is cut like that of the queries,
/// which therefore represents both.
bool is_cut_by(const MatrixCut& matrix, Role role) {
  if (matrix.cut == &Split::attn_qkv) return role == Role::Qkv || role == Role::Query;
  if (matrix.cut == &Split::attn_proj) return role == Role::AttentionOut;
  return role == (matrix.cut == &Split::mlp_fc ? Role::MlpIn : Role::MlpOut);
}

/// The step that multiplies by this matrix in `plan` (may be null); -1 when there is none. A whole model has
/// one in each layer: returns that of `layer`, else the first.
StepId product_of(const Plan* plan, const MatrixCut& matrix, int64_t layer) {
  if (plan == nullptr) return -1;
  StepId first = -1;
  for (const Step& step : plan->program.steps) {
    if (step.op != Op::Linear || step.phase != Phase::Forward) continue;
    if (!is_cut_by(matrix, plan->program.tensor(input_of(plan->program, step, Operand::Weight)).role))
      continue;
    if (step.layer == layer) return step.id;
    if (first < 0) first = step.id;
  }
  return first;
}

/// Returns the layer whose step is selected in `plan` (may be null); -1: none.
int64_t layer_looked_at(const Context& context, const Plan* plan) {
  const StepId step = context.view.selected_step;
  if (plan == nullptr || step < 0 || step >= static_cast<StepId>(plan->program.steps.size())) return -1;
  return plan->program.step(step).layer;
}

/// Draws several whole copies, one behind the other: every rank has all of it.
void draw_copies(const Context& context, ImVec2 min, ImVec2 max, int ranks, ImDrawList* list) {
  const int copies = std::min(ranks, 3);
  const float shift = context.px(3);
  const ImVec2 size{max.x - min.x - shift * static_cast<float>(copies - 1),
                    max.y - min.y - shift * static_cast<float>(copies - 1)};
  for (int copy = copies - 1; copy >= 0; --copy) {
    const ImVec2 at{min.x + shift * static_cast<float>(copy),
                    min.y + shift * static_cast<float>(copies - 1 - copy)};
    const ImVec2 end{at.x + size.x, at.y + size.y};
    fill_rect(list, at, end, mixed(context.theme.card, context.theme.dim, 0.45f));
    outline_rect(list, at, end, context.theme.dim, 0, std::max(1.0f, context.px(1)));
  }
}

/// Fills a rank's part. Parts that are wide enough are drawn with a gap between them.
void fill_part(const Context& context, const stage::Rect& place, bool by_rows, int rank, ImDrawList* list) {
  const float thickness = by_rows ? place.height() : place.width();
  const float gap = thickness > context.px(4) ? context.px(1) : 0;
  fill_rect(list, place.min, {place.max.x - (by_rows ? 0 : gap), place.max.y - (by_rows ? gap : 0)},
            context.theme.ranks[rank % 8]);
}

/// Draws the planned weight in the ranks' colours, each part at its place.
void draw_placed(const Context& context, const stage::Rect& room, const Tensor& weight, int ranks,
                 ImDrawList* list) {
  for (int rank = 0; rank < ranks; ++rank)
    for (const stage::Piece& piece : stage::pieces_of(weight, ranks, rank, room))
      fill_part(context, piece.place, weight.layout.dim < weight.row_dims, rank, list);
}

/// Draws plain stripes while no plan has this matrix: every rank has its share of each of `groups` column
/// groups.
void draw_stripes(const Context& context, const stage::Rect& room, Cut cut, int groups, int ranks,
                  ImDrawList* list) {
  const bool by_rows = cut == Cut::Row;
  const int stripes = by_rows ? ranks : groups * ranks;
  const Range whole{0, 1};
  for (int stripe = 0; stripe < stripes; ++stripe) {
    const Range part{stripe, stripe + 1};
    const stage::Rect place = by_rows ? stage::place_in(room, {stripes, 1}, part, whole)
                                      : stage::place_in(room, {1, stripes}, whole, part);
    fill_part(context, place, by_rows, stripe % ranks, list);
  }
}

/// Draws the picture of the cut: from the planned weight if there is a plan for the wanted settings (it
/// exists before the run), else from the cut alone.
void draw_picture(const Context& context, const Settings& wanted, const MatrixCut& matrix, const Plan* shown,
                  ImVec2 min, ImVec2 max) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const Plan* planned = context.snapshot.plan.get();
  if (planned != nullptr && planned->program.settings == wanted) shown = planned;
  const Cut cut = wanted.split.*matrix.cut;
  const int ranks = std::max(wanted.tp, 1);
  const StepId product = product_of(shown, matrix, layer_looked_at(context, shown));
  if (ranks == 1) {
    fill_rect(list, min, max, context.theme.ranks[0]);
  } else if (cut == Cut::Replicated) {
    draw_copies(context, min, max, ranks, list);
  } else if (product >= 0 && shown->program.settings == wanted) {
    const Step& step = shown->program.step(product);
    const TensorId weight = input_of(shown->program, step, Operand::Weight);
    draw_placed(context, {min, max}, shown->program.tensor(weight), ranks, list);
  } else {
    // Queries, keys and values are each cut across their heads; grouped ones are two matrices.
    const bool fused = matrix.cut == &Split::attn_qkv && wanted.model.key_heads() == wanted.model.heads;
    draw_stripes(context, {min, max}, cut, fused ? 3 : 1, std::min(ranks, 64), list);
  }
}

/// Makes a picture clickable. Returns true if it was clicked, which chooses the next cut.
bool draw_picture_button(const Context& context, ImVec2 min, ImVec2 max, const std::string& next) {
  ImGui::SetCursorScreenPos(min);
  const bool clicked = click_area("picture", {max.x - min.x, max.y - min.y});
  if (ImGui::IsItemHovered()) {
    const float away = context.px(2);
    outline_rect(ImGui::GetWindowDrawList(), {min.x - away, min.y - away}, {max.x + away, max.y + away},
                 context.theme.text, 0, std::max(1.0f, context.px(1.5f)));
    show_tooltip(context, "Click for the next cut: " + next);
  }
  return clicked;
}

void draw_card(const Context& context, const Settings& wanted, const MatrixCut& matrix) {
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  const bool narrow = width < context.px(224);  // then the choice takes the shape's place below the name
  const float height = context.px(56), pad = context.px(8), option_width = context.px(100);
  const bool in_block = matrix.is_in(wanted.block);
  const Plan* shown = shown_plan(context.snapshot);
  const StepId product = product_of(shown, matrix, layer_looked_at(context, shown));
  const MatrixShape shape = shape_of(matrix, wanted.model);
  const std::string shape_text = fmt::format("{} × {}", shape.rows, shape.cols);

  ImGui::PushID(matrix.name);
  ImGui::SetNextItemAllowOverlap();
  if (click_area("show", {std::max(1.0f, width), height}) && product >= 0) {
    show_step(context.view, shown->program, product);
    const Step& step = shown->program.step(product);
    set_selection(context.view, shown->program, {product, input_of(shown->program, step, Operand::Weight)});
  }
  const bool hovered = ImGui::IsItemHovered();
  if (hovered) {
    show_tooltip(context,
                 fmt::format("{}, {}. {}", matrix.name, shape_text,
                             product >= 0 ? "Click to see where it is used" : "Not part of the plan"));
  }
  fill_rect(list, at, {at.x + width, at.y + height}, hovered ? theme.line : theme.card, context.px(6));
  const ImVec2 min{at.x + pad, at.y + pad};
  const ImVec2 max{min.x + context.px(width < context.px(160) ? 28 : 52), at.y + height - pad};
  draw_picture(context, wanted, matrix, shown, min, max);
  if (!in_block) fill_rect(list, min, max, faded(theme.card, 0.6f));

  const float opacity = in_block ? 1.0f : 0.4f;
  const TextStyle name{context.fonts.mono, context.px(kBodySize), faded(theme.text, opacity)};
  const TextStyle size{context.fonts.mono, context.px(kSmallSize), faded(theme.dim, opacity)};
  const float text_x = max.x + context.px(width < context.px(160) ? 8 : 12);
  draw_text(list, {text_x, at.y + context.px(11)}, name, matrix.name);
  if (!narrow) {
    const float room = width - (text_x - at.x) - option_width + context.px(16);
    const std::string close = fmt::format("{}×{}", shape.rows, shape.cols);
    draw_text(list, {text_x, at.y + context.px(31)}, size,
              text_width(size, shape_text) <= room ? shape_text : fitted(size, close, room));
  }

  static const std::vector<std::string> kCuts{to_string(Cut::Column), to_string(Cut::Row),
                                              to_string(Cut::Replicated)};
  const ImVec2 option{at.x + width - context.px(12), at.y + (narrow ? context.px(39) : height / 2)};
  const auto current = static_cast<size_t>(
      std::find(kCuts.begin(), kCuts.end(), to_string(wanted.split.*matrix.cut)) - kCuts.begin());
  const size_t next = (current + 1) % kCuts.size();
  int chosen = draw_picture_button(context, min, max, kCuts[next]) ? static_cast<int>(next) : -1;
  if (const int listed = option_at(context, "cut", option, kCuts[current], kCuts); listed >= 0)
    chosen = listed;
  if (chosen >= 0) {
    Settings changed = wanted;
    changed.split.*matrix.cut = parse_cut(kCuts[static_cast<size_t>(chosen)]);
    changed.split = named_by_its_cuts(changed.split);
    context.want(changed);
  }
  ImGui::PopID();
  ImGui::SetCursorScreenPos({at.x, at.y + height + context.px(6)});
  ImGui::Dummy({0, 0});
}

/// How a picture shows a tensor's cut.
enum class Look { Whole, Rows, Columns };

/// Draws a low card for a cut that belongs to no matrix product. Its picture takes clicks too. Returns the
/// index chosen of `options`, or -1.
int draw_low_card(const Context& context, int ranks, const char* name,
                  const std::vector<std::string>& options, size_t current, Look look, const char* meaning) {
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  const bool narrow = width < context.px(224);  // then the choice is below the name
  const float height = context.px(narrow ? 46 : 36), pad = context.px(8);
  ImGui::PushID(name);
  fill_rect(list, at, {at.x + width, at.y + height}, theme.card, context.px(6));
  const ImVec2 min{at.x + pad, at.y + pad};
  const ImVec2 max{min.x + context.px(width < context.px(160) ? 28 : 52), at.y + height - pad};
  if (ranks == 1) {
    fill_rect(list, min, max, theme.ranks[0]);
  } else if (look == Look::Whole) {
    draw_copies(context, min, max, ranks, list);
  } else {
    draw_stripes(context, {min, max}, look == Look::Rows ? Cut::Row : Cut::Column, 1, std::min(ranks, 64),
                 list);
  }
  const size_t next = (current + 1) % options.size();
  int chosen = draw_picture_button(context, min, max, options[next]) ? static_cast<int>(next) : -1;
  const TextStyle label{context.fonts.body, context.px(kBodySize), theme.text};
  const float text_x = max.x + context.px(12);
  draw_text(list, {text_x, narrow ? at.y + context.px(5) : at.y + (height - label.size) / 2}, label, name);
  ImGui::SetCursorScreenPos({text_x, at.y});
  ImGui::Dummy({text_width(label, name), height});
  if (ImGui::IsItemHovered()) show_tooltip(context, meaning);
  const ImVec2 option{at.x + width - context.px(12), at.y + (narrow ? context.px(34) : height / 2)};
  if (const int listed = option_at(context, "cut", option, options[current], options); listed >= 0)
    chosen = listed;
  ImGui::PopID();
  ImGui::SetCursorScreenPos({at.x, at.y + height + context.px(6)});
  ImGui::Dummy({0, 0});
  return chosen;
}

/// Draws a low card for `field` of the split.
template <class Value, size_t N>
void draw_field(const Context& context, const Settings& wanted, const char* name, Value Split::*field,
                const std::array<Value, N>& values, const std::vector<std::string>& words,
                const std::array<Look, N>& looks, const char* meaning) {
  const auto current =
      static_cast<size_t>(std::find(values.begin(), values.end(), wanted.split.*field) - values.begin());
  const int chosen = draw_low_card(context, wanted.tp, name, words, current, looks[current], meaning);
  if (chosen < 0) return;
  Settings changed = wanted;
  changed.split.*field = values[static_cast<size_t>(chosen)];
  changed.split = named_by_its_cuts(changed.split);
  context.want(changed);
}

}  // namespace

void draw_matrices_of_block(const Context& context, const Settings& wanted) {
  for (const MatrixCut& matrix : matrix_cuts())
    if (matrix.is_in(wanted.block)) draw_card(context, wanted, matrix);
}

void draw_matrices(const Context& context, const Settings& wanted) {
  for (const MatrixCut& matrix : matrix_cuts()) draw_card(context, wanted, matrix);
  draw_field(
      context, wanted, "Stream X", &Split::norm,
      std::array{NormCut::Replicated, NormCut::Parallel, NormCut::Sequence}, {"whole", "hidden", "tokens"},
      std::array{Look::Whole, Look::Columns, Look::Rows},
      "The residual stream between the blocks, and the norms, dropouts and sums on it: whole on every rank, "
      "cut over hidden (a norm sends two numbers per token), or cut over tokens (sequence parallelism: "
      "a reduce-scatter and an all-gather replace each all-reduce).");
  if (wanted.block != Block::Model) return;
  draw_field(
      context, wanted, "Embedding", &Split::embedding,
      std::array{EmbeddingCut::Vocab, EmbeddingCut::Hidden, EmbeddingCut::Replicated},
      {"vocabulary", "hidden", "replicated"}, std::array{Look::Rows, Look::Columns, Look::Whole},
      "The table of tokens, tied to the output: cut over the vocabulary, over hidden, or whole everywhere.");
  draw_field(context, wanted, "Loss", &Split::loss, std::array{LossForm::Fused, LossForm::Gather},
             {"fused", "gathered"}, std::array{Look::Columns, Look::Whole},
             "For logits that are cut over the vocabulary: three numbers per token are reduced, or all "
             "logits are gathered on every rank first.");
}

}  // namespace shardlens::ui
