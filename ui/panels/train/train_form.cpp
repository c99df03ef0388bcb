// The form of the Train tab: what is trained, on what, and how fast it learns.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/config/presets.h"
#include "engine/config/validate.h"
#include "engine/planner/parameters.h"
#include "engine/train/train_snapshot.h"
#include "ui/panels/train/train_choices.h"
#include "ui/panels/train/train_parts.h"
#include "ui/panels/train/train_view.h"
#include "ui/platform/exports.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"

namespace shardlens::ui {
namespace {

constexpr float kFormColumn = 200;  ///< at least

std::string integer_text(int64_t value) {
  return grouped_text(value);
}

/// The presets; models that train in seconds come first, by size. Ordered once: the presets do not change.
const std::vector<const Model*>& models_to_train() {
  static const std::vector<const Model*> models = [] {
    const int64_t toy = parameter_count(model_preset("gpt2-medium"));
    std::vector<std::pair<int64_t, const Model*>> sized;
    for (const Model& model : model_presets())
      sized.emplace_back(std::min(toy, parameter_count(model)), &model);
    std::ranges::stable_sort(sized, {}, &std::pair<int64_t, const Model*>::first);
    std::vector<const Model*> found;
    for (const auto& [size, model] : sized) found.push_back(model);
    return found;
  }();
  return models;
}

void draw_model(const Context& context, TrainChoices& choices) {
  heading(context, context.view.of<TrainView>().comparison ? "Both models" : "Model");
  std::vector<std::string> options;
  for (const Model* model : models_to_train()) options.push_back(model->title);
  const int chosen = option_row(context, "Model", model_preset(choices.model).title, options);
  if (chosen >= 0) {
    const std::string& preset = models_to_train()[static_cast<size_t>(chosen)]->name;
    choices = context.view.of<TrainView>().comparison ? compared_with_model(choices, preset)
                                                      : with_model(choices, preset);
  }
  slider_row(context, "Layers", {1, 2, 3, 4, 6, 8, 12, 16, 20, 24}, choices.layers);
}

void draw_how_it_runs(const Context& context, TrainChoices& choices) {
  const Model model = model_preset(choices.model);
  std::vector<std::string> degrees;
  std::vector<int> possible;
  for (const int tp : possible_degrees(model, Block::Model)) {
    if (tp > 8) break;
    possible.push_back(tp);
    degrees.push_back(std::to_string(tp));
  }
  const int tp = option_row(context, "T", std::to_string(choices.tp), degrees);
  if (tp >= 0) choices.tp = possible[static_cast<size_t>(tp)];
  const std::vector<std::string> replicas{"1", "2", "4"};
  const int dp = option_row(context, "D", std::to_string(choices.dp), replicas);
  if (dp >= 0) choices.dp = std::stoi(replicas[static_cast<size_t>(dp)]);
  value_row(context, "dtype", std::array<DType, 4>{DType::Fp32, DType::Bf16, DType::Fp16, DType::Fp64},
            choices.dtype, [](DType dtype) { return to_string(dtype); });
  std::vector<int64_t> lengths;
  for (int64_t seq = 16; seq <= model.positions; seq *= 2) lengths.push_back(seq);
  slider_row(context, "Batch", {1, 2, 4, 8, 16, 32, 64, 128}, choices.batch);
  slider_row(context, "Sequence", lengths, choices.seq);
}

/// Draws the learning rate over the steps.
void draw_schedule(const Context& context, const TrainChoices& choices) {
  const train_command::Start start = training_of(choices);
  const Schedule& schedule = start.models.front().options.schedule;
  const float width = ImGui::GetContentRegionAvail().x, height = context.px(32);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImDrawList* list = ImGui::GetWindowDrawList();
  const int points = std::max(2, static_cast<int>(width / context.px(3)));
  std::vector<ImVec2> line;
  for (int i = 0; i < points; ++i) {
    const double share = static_cast<double>(i) / (points - 1);
    const auto step = static_cast<int64_t>(1 + share * static_cast<double>(choices.steps - 1));
    const auto rate = static_cast<float>(schedule.rate(step) / schedule.peak);
    line.push_back({at.x + static_cast<float>(share) * width, at.y + height * (1 - 0.9f * rate)});
  }
  list->AddLine({at.x, at.y + height}, {at.x + width, at.y + height}, context.theme.line, 1);
  list->AddPolyline(line.data(), static_cast<int>(line.size()), context.theme.forward, context.px(1.5f));
  ImGui::Dummy({width, height + context.px(4)});
}

void draw_teaching(const Context& context, TrainChoices& choices) {
  heading(context, "How it is taught");
  value_row(context, "Steps", std::array<int64_t, 8>{50, 100, 200, 300, 500, 1000, 2000, 5000}, choices.steps,
            integer_text);
  value_row(context, "Rate", std::array<double, 9>{1e-4, 3e-4, 5e-4, 1e-3, 2e-3, 3e-3, 5e-3, 7e-3, 1e-2},
            choices.peak, [](double rate) { return fmt::format("{:g}", rate); });
  value_row(context, "Warm-up", std::array<int64_t, 6>{0, 10, 20, 50, 100, 200}, choices.warmup,
            [](int64_t steps) { return fmt::format("{} steps", steps); });
  value_row(context, "Decay", std::array<Decay, 3>{Decay::Cosine, Decay::Linear, Decay::Constant},
            choices.decay, [](Decay decay) { return to_string(decay); });
  draw_schedule(context, choices);
  value_row(context, "Dropout", std::array<double, 4>{0, 0.05, 0.1, 0.2}, choices.dropout,
            [](double share) { return share == 0 ? "none" : format_percent(share); });
}

/// Draws a hint below a row.
void draw_hint(const Context& context, const std::string& words) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float height = draw_wrapped(ImGui::GetWindowDrawList(), {at.x, at.y + context.px(4)},
                                    Type(context).note, words, ImGui::GetContentRegionAvail().x);
  ImGui::Dummy({ImGui::GetContentRegionAvail().x, height + context.px(4)});
}

/// Draws the choices for a lost rank: how often the training is saved, and when a rank counts as lost.
void draw_safety(const Context& context, TrainChoices& choices) {
  heading(context, "When a rank is lost");
  value_row(
      context, "Checkpoint", std::array<int64_t, 6>{0, 10, 20, 50, 100, 500}, choices.checkpoint_every,
      [](int64_t steps) { return steps == 0 ? std::string("none") : fmt::format("every {} steps", steps); });
  if (choices.checkpoint_every > 0) {
    const std::string place = where_checkpoints_go(context.view.of<TrainView>().checkpoints);
    draw_hint(context, fitted_in_middle(Type(context).note, place, ImGui::GetContentRegionAvail().x));
    tooltip(context, fmt::format("{}\nEach training has its own folder. shardlens-cli can go on from it, "
                                 "evaluate it or let it write.",
                                 place));
  }
  value_row(
      context, "Lost after", std::array<double, 6>{2, 5, 20, 60, 300, 0}, choices.timeout_seconds,
      [](double seconds) { return seconds == 0 ? std::string("never") : fmt::format("{:g} s", seconds); });
}

void draw_text_choice(const Context& context, TrainChoices& choices) {
  heading(context, "Text");
  path_row(context, "File", "Genesis, built in", choices.text);
  draw_hint(context,
            "A text file or a folder, as bytes (a BERT learns words from it), or a corpus prepared with "
            "shardlens-cli data.");
}

/// What is chosen otherwise than in the training that is shown; empty: nothing, or none is shown.
std::string other_training(const TrainView& view, const TrainSnapshot& train) {
  if (train.curves.empty()) return {};
  const char* const words = "These choices are for the next training.";
  const bool compared = train.curves.size() > 1;
  if (compared != view.comparison)
    return fmt::format("{} The one shown has {}.", words, compared ? "two models" : "one model");
  const std::string differs =
      difference(choices_of(train.curves.front()->options), choices_of(view.wish().models.front().options));
  return differs.empty() ? "" : fmt::format("{} The one shown has {}.", words, differs);
}

}  // namespace

void draw_train_form(const Context& context) {
  TrainView& view = context.view.of<TrainView>();
  TrainChoices& choices = view.comparison ? view.compared : view.single;
  const int columns =
      std::clamp(static_cast<int>(ImGui::GetContentRegionAvail().x / context.px(kFormColumn)), 1, 3);
  if (const std::string other = other_training(view, context.train); !other.empty())
    draw_hint(context, other);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {context.px(8), 0});
  ImGui::PushStyleVar(ImGuiStyleVar_CellPadding, {context.px(12), 0});
  if (ImGui::BeginTable("columns", columns,
                        ImGuiTableFlags_SizingStretchSame | ImGuiTableFlags_NoPadOuterX)) {
    ImGui::TableNextColumn();
    draw_model(context, choices);
    draw_how_it_runs(context, choices);
    if (columns > 1) ImGui::TableNextColumn();
    draw_teaching(context, choices);
    draw_safety(context, choices);
    if (columns > 2) ImGui::TableNextColumn();
    draw_text_choice(context, choices);
    ImGui::EndTable();
  }
  ImGui::PopStyleVar(2);
}

}  // namespace shardlens::ui
