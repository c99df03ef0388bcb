// The choices that only a whole model has.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <array>

#include "engine/config/error.h"
#include "engine/config/units.h"
#include "engine/config/validate.h"
#include "engine/runtime/snapshot.h"
#include "ui/outbox.h"
#include "ui/panels/setup/setup.h"
#include "ui/widgets/form.h"

namespace shardlens::ui {
namespace {

constexpr std::array<double, 4> kDropouts{0, 0.1, 0.2, 0.5};

std::string dropout_title(double probability) {
  return probability == 0 ? "none" : fmt::format("{}", probability);
}

std::string recompute_title(Recompute recompute) {
  switch (recompute) {
    case Recompute::None:
      return "nothing";
    case Recompute::Selective:
      return "attention";
    case Recompute::Full:
      break;
  }
  return "each layer";
}

const char* recompute_explanation(Recompute recompute) {
  switch (recompute) {
    case Recompute::None:
      return "all activations are kept";
    case Recompute::Selective:
      return "softmax(QK) is computed again, not kept";
    case Recompute::Full:
      break;
  }
  return "a layer is run again from its input";
}

/// The list's lines, in the order of the enum, each with the activations it keeps. They are planned when the
/// list opens and appear a moment later.
std::vector<std::string> recompute_options(const Context& context) {
  ImGui::PushID("Recompute");
  const bool is_open = ImGui::IsPopupOpen("options");
  bool& was_open = *ImGui::GetStateStorage()->GetBoolRef(ImGui::GetID("was open"));
  ImGui::PopID();
  if (is_open && !was_open) context.send(command::PlanRecompute{});
  was_open = is_open;
  std::vector<std::string> options;
  for (const Recompute recompute : {Recompute::None, Recompute::Selective, Recompute::Full}) {
    const std::string title = recompute_title(recompute);
    std::string line = fmt::format("{}: {}", title, recompute_explanation(recompute));
    if (const auto& costs = context.snapshot.recompute) {
      const RecomputeCost& cost = (*costs)[static_cast<size_t>(recompute)];
      line += fmt::format(" ({})", bytes_text(static_cast<double>(cost.activation_bytes)));
    }
    options.push_back(line + "###" + title);
  }
  return options;
}

/// A choice among `names`; calls `choose` with the index of another one.
void choice(const Context& context, const char* label, const std::string& current,
            const std::vector<std::string>& names, const auto& choose) {
  const int chosen = option_row(context, label, current, names);
  if (chosen >= 0) choose(static_cast<size_t>(chosen));
}

}  // namespace

Settings with_block(Settings settings, Block block) {
  settings.block = block;
  settings.delays.clear();  // another part has other steps
  if (block == Block::Model) {
    settings.operands = Operands::Normal;
  } else {
    settings.dp = settings.micro_batches = 1;
    settings.update = false;
    if (element_bytes(settings.dtype) < element_bytes(DType::Fp32)) settings.dtype = DType::Fp32;
  }
  const std::vector<int> possible = possible_degrees(settings.model, block, settings.heads_policy);
  if (std::find(possible.begin(), possible.end(), settings.tp) == possible.end()) {
    const auto above = std::upper_bound(possible.begin(), possible.end(), settings.tp);
    settings.tp = above == possible.begin() ? 1 : *(above - 1);
  }
  return settings;
}

void draw_whole_model(const Context& context, const Settings& wanted) {
  Settings changed = wanted;
  int64_t replicas = wanted.dp, parts = wanted.micro_batches;
  const std::vector<int64_t> stops{1, 2, 3, 4, 6, 8, 16};
  if (slider_row(context, "Replicas D", stops, replicas)) changed.dp = static_cast<int>(replicas);
  if (slider_row(context, "Micro-batches", stops, parts)) changed.micro_batches = static_cast<int>(parts);

  const int recompute =
      option_row(context, "Recompute", recompute_title(wanted.recompute), recompute_options(context));
  if (recompute >= 0) changed.recompute = static_cast<Recompute>(recompute);

  std::vector<std::string> dropouts;
  for (const double probability : kDropouts) dropouts.push_back(dropout_title(probability));
  choice(context, "Dropout", dropout_title(wanted.dropout), dropouts,
         [&](size_t i) { changed.dropout = kDropouts[i]; });
  choice(context, "Optimizer", wanted.update ? "AdamW" : "left out", {"left out", "AdamW"},
         [&](size_t i) { changed.update = i == 1; });
  if (changed != wanted) context.want(changed);
}

}  // namespace shardlens::ui
