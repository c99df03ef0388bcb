// The choices that only a whole model has.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/config/validate.h"
#include "ui/panels/setup.h"
#include "ui/widgets/form.h"

namespace shardlens::ui {
namespace {

constexpr std::array<double, 4> kDropouts{0, 0.1, 0.2, 0.5};

std::string dropout_title(double probability) {
  return probability == 0 ? "none" : fmt::format("{}", probability);
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
  if (block == Block::Model) {
    settings.operands = Operands::Normal;
  } else {
    settings.dp = settings.micro_batches = 1;
    settings.update = false;
  }
  const std::vector<int> possible = possible_degrees(settings.model, block);
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
  if (slider_row(context, "Batch parts", stops, parts)) changed.micro_batches = static_cast<int>(parts);

  const std::array<Recompute, 2> recomputes{Recompute::None, Recompute::Full};
  const auto recompute_title = [](Recompute recompute) {
    return std::string(recompute == Recompute::None        ? "nothing"
                       : recompute == Recompute::Selective ? "attention"
                                                           : "each layer");
  };
  std::vector<std::string> names;
  for (const Recompute recompute : recomputes) names.push_back(recompute_title(recompute));
  choice(context, "Recompute", recompute_title(wanted.recompute), names,
         [&](size_t i) { changed.recompute = recomputes[i]; });

  const auto embedding_title = [](EmbeddingCut cut) {
    return std::string(cut == EmbeddingCut::Vocab ? "cut by vocabulary" : "replicated");
  };
  choice(context, "Embedding", embedding_title(wanted.split.embedding),
         {embedding_title(EmbeddingCut::Vocab), embedding_title(EmbeddingCut::Replicated)}, [&](size_t i) {
           changed.split.embedding = i == 0 ? EmbeddingCut::Vocab : EmbeddingCut::Replicated;
         });
  const auto loss_title = [](LossForm form) {
    return std::string(form == LossForm::Fused ? "fused" : "logits gathered");
  };
  choice(context, "Loss", loss_title(wanted.split.loss),
         {loss_title(LossForm::Fused), loss_title(LossForm::Gather)},
         [&](size_t i) { changed.split.loss = i == 0 ? LossForm::Fused : LossForm::Gather; });

  std::vector<std::string> dropouts;
  for (const double probability : kDropouts) dropouts.push_back(dropout_title(probability));
  choice(context, "Dropout", dropout_title(wanted.dropout), dropouts,
         [&](size_t i) { changed.dropout = kDropouts[i]; });
  choice(context, "Optimizer", wanted.update ? "AdamW" : "left out", {"left out", "AdamW"},
         [&](size_t i) { changed.update = i == 1; });
  if (changed != wanted) context.want(changed);
}

}  // namespace shardlens::ui
