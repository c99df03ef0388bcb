// Setup: the model, T, the cut of each matrix, and how it is run. Every change is sent as a Command at once.
// If the settings cannot run, the page beside it says why.
#include "ui/panels/setup/setup.h"
#include "ui/lesson/lesson_view.h"

#include <fmt/format.h>
#include <icons_font_awesome_4.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "engine/config/hardware.h"
#include "engine/config/hardware_file.h"
#include "engine/config/heads.h"
#include "engine/config/presets.h"
#include "engine/config/splits.h"
#include "engine/config/validate.h"
#include "engine/cost/heads_balance.h"
#include "engine/device/device.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "engine/runtime/session/machine_watch.h"
#include "ui/panels/faults/faults.h"
#include "ui/panels/memory/memory_figures.h"
#include "ui/panels/panels.h"
#include "ui/panels/recordings/replay_parts.h"
#include "ui/panels/setup/delays.h"
#include "ui/plan/shown_plan.h"
#include "ui/settings/model_path.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/form.h"
#include "ui/widgets/paint.h"
#include "ui/widgets/slider_stops.h"

namespace shardlens::ui {
namespace {

constexpr std::array<int, 9> kDegrees{1, 2, 3, 4, 5, 6, 8, 12, 16};

template <typename Value>
std::vector<std::string> titles(const std::vector<Value>& values) {
  std::vector<std::string> list;
  for (const Value& value : values) list.push_back(value.title);
  return list;
}

/// Draws a chip for each degree: the present one in the accent colour, impossible ones faint. All can be
/// clicked: the engine then says why one is impossible.
void draw_degrees(const Context& context, const Settings& wanted) {
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  const float height = context.px(26);
  const TextStyle label{context.fonts.body, context.px(kSmallSize), theme.dim};
  draw_text(list, {at.x, at.y + (height - label.size) / 2}, label, "T");
  const std::vector<int> possible = possible_degrees(wanted.model, wanted.block, wanted.heads_policy);
  const float left = at.x + context.px(20);
  // One line if the chips are wide enough to hit, else two.
  const bool one_line = at.x + width - left >= context.px(22) * static_cast<float>(kDegrees.size());
  const size_t in_line = one_line ? kDegrees.size() : (kDegrees.size() + 1) / 2;
  const float chip = (at.x + width - left) / static_cast<float>(in_line);
  const bool listed = std::find(kDegrees.begin(), kDegrees.end(), wanted.tp) != kDegrees.end();
  for (size_t i = 0; i < kDegrees.size(); ++i) {
    // A degree that is not in the list takes the place of the last one that is not larger.
    int tp = kDegrees[i];
    const int next = i + 1 < kDegrees.size() ? kDegrees[i + 1] : wanted.tp + 1;
    if (!listed && wanted.tp > tp && wanted.tp < next) tp = wanted.tp;
    const bool selected = tp == wanted.tp;
    const bool fits = std::find(possible.begin(), possible.end(), tp) != possible.end();
    const ImVec2 min{left + chip * static_cast<float>(i % in_line),
                     at.y + height * static_cast<float>(i / in_line)};
    const ImVec2 max{min.x + chip - context.px(2), min.y + height};
    ImGui::SetCursorScreenPos(min);
    if (click_area(fmt::format("T = {}", tp).c_str(), {std::max(1.0f, max.x - min.x), height}) && !selected) {
      Settings changed = wanted;
      changed.tp = tp;
      context.want(changed);
    }
    if (ImGui::IsItemHovered()) {
      fill_rect(list, min, max, theme.line, context.px(4));
      if (!fits && !selected)
        show_tooltip(context, fmt::format("This model cannot be cut over {} ranks: click to read why", tp));
    }
    if (selected) fill_rect(list, min, max, fits ? theme.forward : theme.line, context.px(4));
    TextStyle style{selected ? context.fonts.bold : context.fonts.body, context.px(kBodySize), theme.text};
    if (selected && fits) style.colour = legible_on(theme, theme.forward);
    if (!fits && !selected) style.colour = theme.faint;
    draw_text(list, {(min.x + max.x) / 2, min.y + (height - style.size) / 2}, style, std::to_string(tp),
              Align::Centre);
  }
  ImGui::SetCursorScreenPos({at.x, at.y + height * (one_line ? 1 : 2) + context.px(6)});
  ImGui::Dummy({0, 0});
}

void draw_sizes(const Context& context, const Settings& wanted) {
  Settings changed = wanted;
  Model& model = changed.model;
  bool any = false;
  if (slider_row(context, "Hidden", hidden_stops(wanted.model), model.hidden)) {
    // The MLP keeps its proportion if its width is a multiple of the hidden size; else it keeps its width.
    const Model& before = wanted.model;
    if (before.hidden > 0 && model.hidden > 0 && before.ffn % before.hidden == 0)
      model.ffn = before.ffn / before.hidden * model.hidden;
    any = true;
  }
  if (slider_row(context, "Heads", heads_stops(wanted.model), model.heads)) {
    if (model.heads % std::max<int64_t>(model.key_heads(), 1) != 0) model.kv_heads = 0;
    any = true;
  }
  int64_t key_heads = model.key_heads();
  if (slider_row(context, "Key heads", key_heads_stops(wanted.model), key_heads)) {
    model.kv_heads = key_heads == model.heads ? 0 : key_heads;
    any = true;
  }
  any |= slider_row(context, "MLP width", ffn_stops(wanted.model), model.ffn);
  any |= slider_row(context, "Layers", layers_stops(), model.layers);
  if (any) {
    changed.model = named_by_its_sizes(model);
    changed.layer = std::clamp<int64_t>(changed.layer, 0, std::max<int64_t>(changed.model.layers - 1, 0));
  }
  any |= slider_row(context, "Sequence", sequence_stops(wanted.model), changed.seq);
  any |= slider_row(context, "Batch", batch_stops(), changed.batch);
  if (any && changed != wanted) context.want(changed);
}

void draw_model(const Context& context, const Settings& wanted) {
  const std::vector<Model>& presets = model_presets();
  const int chosen = option_row(context, "Model", wanted.model.title, titles(presets));
  if (chosen < 0) return;
  Settings changed = wanted;
  changed.model = presets[static_cast<size_t>(chosen)];
  changed.layer = 0;
  changed.seq = std::min(changed.seq, changed.model.positions);
  changed.weights_path.clear();
  context.want(changed);
}

/// The heading of the cards with the named split at its right.
void draw_split(const Context& context, const Settings& wanted) {
  const ImVec2 top = ImGui::GetCursorScreenPos();
  const float right = top.x + ImGui::GetContentRegionAvail().x;
  const float width = right - top.x;
  heading(context, width < context.px(160)   ? "Cuts"
                   : width < context.px(224) ? "Matrix cuts"
                                             : "How each matrix is cut");
  const ImVec2 below = ImGui::GetCursorScreenPos();
  const std::vector<std::string> names = split_names();
  const int chosen =
      option_at(context, "Split", {right, top.y + context.px(12 + kBodySize / 2)}, wanted.split.name, names);
  ImGui::SetCursorScreenPos(below);
  if (chosen < 0) return;
  Settings changed = wanted;
  changed.split = named_split(names[static_cast<size_t>(chosen)]);
  context.want(changed);
}

/// The words for when a row-parallel product is summed over the ranks.
std::string reductions_title(int chunks) {
  return chunks == 1 ? "after the product" : fmt::format("overlapped, in {} parts", chunks);
}

/// The words for when neighbouring passes over the same elements become one step.
std::string fusion_title(Fusion fusion) {
  switch (fusion) {
    case Fusion::Auto:
      return "in whole models";
    case Fusion::On:
      return "always";
    case Fusion::Off:
      break;
  }
  return "never";
}

std::string input_title(InputKind kind) {
  switch (kind) {
    case InputKind::Normal:
      return "seeded normal";
    case InputKind::Npy:
      return ".npy file";
    case InputKind::Text:
      return "text file";
  }
  return {};
}

void draw_input(const Context& context, const Settings& wanted) {
  constexpr std::array<InputKind, 3> kKinds{InputKind::Normal, InputKind::Npy, InputKind::Text};
  std::vector<std::string> names;
  for (const InputKind kind : kKinds) names.push_back(input_title(kind));
  const int chosen = option_row(context, "Input X", input_title(wanted.input.kind), names);
  if (chosen >= 0) {
    Settings changed = wanted;
    changed.input.kind = kKinds[static_cast<size_t>(chosen)];
    context.want(changed);
  }
  if (wanted.input.kind == InputKind::Normal) return;
  Settings changed = wanted;
  const char* hint = wanted.input.kind == InputKind::Npy ? "path of an .npy file" : "path of a text";
  if (path_row(context, "Input file", hint, changed.input.path) && changed != wanted) context.want(changed);
}

std::string policy_title(HeadsPolicy policy) {
  switch (policy) {
    case HeadsPolicy::Strict:
      return "must divide";
    case HeadsPolicy::Uneven:
      return "uneven";
    case HeadsPolicy::Padded:
      break;
  }
  return "zero heads";
}

/// Returns attention's time on the slowest rank divided by the mean, from a run of these settings; 0: not
/// known.
double measured_imbalance(const Snapshot& snapshot) {
  const bool measured = snapshot.result && snapshot.result->timed && !snapshot.stale();
  if (!measured) return 0;
  const Program& program = snapshot.result->plan->program;
  std::vector<double> seconds;
  for (const std::vector<StepEvent>& events : snapshot.result->events) {
    seconds.push_back(0);
    for (const Step& step : program.steps) {
      const auto id = static_cast<size_t>(step.id);
      if (is_between_heads(step.op) && id < events.size()) seconds.back() += events[id].seconds();
    }
  }
  return imbalance(seconds);
}

/// If heads need not divide: draws the policy and its cost, counted and measured.
void draw_heads_policy(const Context& context, const Settings& wanted) {
  if (wanted.heads_policy == HeadsPolicy::Strict) return;
  draw_choice(context, "Heads policy", wanted, &Settings::heads_policy,
              std::array<HeadsPolicy, 3>{HeadsPolicy::Strict, HeadsPolicy::Uneven, HeadsPolicy::Padded},
              policy_title);
  if (!context.snapshot.plan || wanted.block == Block::Mlp) return;
  std::string words = heads_share_text(wanted);
  if (words.empty()) return;
  words += " (counted)";
  if (const double measured = measured_imbalance(context.snapshot); measured > 0)
    words += fmt::format("; attention took the slowest rank {:.2f} times the mean ({}{})", measured,
                         how_known(context.snapshot),
                         wanted.tp > available_cores() ? ", ranks sharing cores" : "");
  const TextStyle style{context.fonts.body, context.px(kSmallSize), context.theme.dim};
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float height =
      draw_wrapped(ImGui::GetWindowDrawList(), at, style, words + ".", ImGui::GetContentRegionAvail().x);
  ImGui::Dummy({0, height + context.px(8)});
}

void draw_hardware(const Context& context, const Settings& wanted) {
  const std::vector<Hardware>& presets = hardware_presets();
  // In a recording, "this machine" is the machine that made it.
  const bool elsewhere = context.replay.is_open() && wanted.hardware == kThisMachine;
  const std::string title =
      elsewhere ? context.replay.recording->machine : find_hardware(wanted.hardware).title;
  const int chosen = option_row(context, "Hardware", title, titles(presets));
  if (chosen < 0) return;
  Settings changed = wanted;
  changed.hardware = presets[static_cast<size_t>(chosen)].name;
  context.want(changed);
}

void draw_part(const Context& context, const Settings& wanted) {
  std::vector<std::string> names;
  for (const Block block : kParts) names.push_back(block_title(block));
  const int chosen = option_row(context, "Part", block_title(wanted.block), names);
  if (chosen >= 0) context.want(with_block(wanted, kParts[static_cast<size_t>(chosen)]));
}

/// Where the LayerNorms stand. A part of a layer has none.
void draw_norm_place(const Context& context, const Settings& wanted) {
  if (!has_norms(wanted.block)) return;
  std::vector<std::string> names;
  std::string help;
  for (const NormPlacement place : kNormPlaces) {
    names.push_back(norm_title(place));
    help += (help.empty() ? "" : "\n") + norm_help(place);
  }
  const int chosen = option_row(context, "LayerNorm", norm_title(wanted.model.norm), names, help.c_str());
  if (chosen < 0) return;
  const Settings changed = with_norm(wanted, kNormPlaces[static_cast<size_t>(chosen)]);
  if (changed != wanted) context.want(changed);
}

void draw_run_settings(const Context& context, const Settings& wanted) {
  heading(context, "What is run");
  draw_part(context, wanted);
  draw_norm_place(context, wanted);
  if (wanted.block == Block::Model) draw_whole_model(context, wanted);
  draw_choice(context, "dtype", wanted, &Settings::dtype, runnable_dtypes(wanted.block),
              [](DType dtype) { return to_string(dtype); });
  draw_choice(context, "Reductions", wanted, &Settings::overlap_chunks, std::array<int, 4>{1, 2, 4, 8},
              reductions_title);
  draw_choice(context, "Fused steps", wanted, &Settings::fusion,
              std::array<Fusion, 3>{Fusion::Auto, Fusion::On, Fusion::Off}, fusion_title);
  // A whole model's inputs are tokens, and its sums are not exact integers.
  if (wanted.block != Block::Model || wanted.operands == Operands::Integer) {
    draw_choice(context, "Values", wanted, &Settings::operands,
                std::array<Operands, 2>{Operands::Normal, Operands::Integer}, [](Operands operands) {
                  return std::string(operands == Operands::Integer ? "integers, exact" : "normal");
                });
  }
  if (wanted.block != Block::Model) draw_input(context, wanted);
  Settings changed = wanted;
  const bool new_weights = path_row(context, "Weights", "seeded, or a path", changed.weights_path);
  if (new_weights && changed != wanted) {
    std::error_code unknown;
    const bool is_folder = std::filesystem::is_directory(changed.weights_path, unknown);
    if (is_folder && names_a_model(changed.weights_path))
      take_model(context, changed.weights_path);
    else
      context.want_weights(changed);
  }
  if (number_row(context, "Seed", changed.seed)) context.want(changed);
  draw_devices(context, wanted);
  draw_hardware(context, wanted);
}

}  // namespace

std::string block_title(Block block) {
  switch (block) {
    case Block::Layer:
      return "one layer";
    case Block::Mlp:
      return "MLP alone";
    case Block::Attention:
      return "attention alone";
    case Block::Model:
      return "whole model";
  }
  return {};
}

std::string norm_title(NormPlacement place) {
  return place == NormPlacement::Pre ? "before the block (pre)" : "after the sum (post)";
}

std::string norm_help(NormPlacement place) {
  return place == NormPlacement::Pre
             ? "Before attention and MLP, as in GPT-2: the residual stream is never normalised."
             : "After each residual sum, as in the first BERT: deep models then train badly.";
}

Settings with_norm(Settings settings, NormPlacement place) {
  settings.model.norm = place;
  settings.model = named_by_its_sizes(settings.model);
  return settings;
}

void draw_setup(const Context& context) {
  const Settings wanted =
      context.wanted();  // a copy: a change below must not alter what the rest of the frame shows
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {context.px(8), 0});
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const TextStyle title{context.fonts.bold, context.px(kBodySize), context.theme.text};
  draw_text(list, at, title, "Setup");
  const bool replays = context.replay.is_open();
  if (replays)
    draw_text(list, {at.x + ImGui::GetContentRegionAvail().x, at.y + context.px(2)},
              {context.fonts.body, context.px(kSmallSize), context.theme.dim}, "of the recording",
              Align::Right);
  ImGui::Dummy({0, title.size + context.px(8)});
  const ImVec2 fields = ImGui::GetCursorScreenPos();
  ImGui::BeginDisabled(replays);
  const bool cuts_first = asks_for_a_cut(context);
  // A class needs no more than what it is asked for, and the Stage needs the room.
  if (cuts_first && is_class(context.view)) {
    draw_matrices_of_block(context, wanted);
    ImGui::EndDisabled();
    ImGui::PopStyleVar();
    return;
  }
  const auto draw_cuts = [&] {
    draw_split(context, wanted);
    draw_matrices(context, wanted);
  };
  if (cuts_first) draw_cuts();
  draw_model(context, wanted);
  draw_degrees(context, wanted);
  draw_heads_policy(context, wanted);
  draw_sizes(context, wanted);
  if (!cuts_first) draw_cuts();
  draw_run_settings(context, wanted);
  draw_late_ranks(context, wanted);
  ImGui::EndDisabled();
  const ImVec2 end{fields.x + ImGui::GetContentRegionAvail().x, ImGui::GetCursorScreenPos().y};
  explain_fixed(context, fields, end);
  draw_memory_per_rank(context, wanted);
  ImGui::PopStyleVar();
}

}  // namespace shardlens::ui
