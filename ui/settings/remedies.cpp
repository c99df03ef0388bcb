// Lists candidates in the order a person would try them and keeps those that validation accepts: see
// remedies.h.
#include "ui/settings/remedies.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/counted.h"
#include "engine/base/error.h"
#include "engine/config/hardware_file.h"
#include "engine/config/presets.h"
#include "engine/config/splits.h"
#include "engine/config/validate.h"
#include "ui/panels/setup/setup.h"
#include "ui/widgets/sentence.h"

namespace shardlens::ui {
namespace {

/// Returns the nearest head counts below and above the wanted one that divide hidden and that T divides.
std::vector<int64_t> head_counts_for(const Settings& wanted) {
  const Model& model = wanted.model;
  std::vector<int64_t> counts;
  for (const int direction : {-1, 1}) {
    for (int64_t heads = model.heads + direction;
         heads >= 1 && heads <= model.hidden && heads <= 4 * model.heads; heads += direction) {
      if (model.hidden % heads == 0 && heads % std::max(wanted.tp, 1) == 0 &&
          (!model.is_grouped() || heads % model.key_heads() == 0)) {
        counts.push_back(heads);
        break;
      }
    }
  }
  return counts;
}

/// Returns the nearest numbers of key heads below and above the wanted one that divide the heads.
std::vector<int64_t> key_head_counts_for(const Model& model) {
  std::vector<int64_t> counts;
  for (const int direction : {-1, 1}) {
    for (int64_t keys = model.key_heads() + direction; keys >= 1 && keys <= model.heads; keys += direction) {
      if (model.heads % keys != 0) continue;
      counts.push_back(keys);
      break;
    }
  }
  return counts;
}

/// Adds batches that replicas and parts divide, numbers of replicas that divide the batch, and one part.
void add_for_a_whole_model(const Settings& wanted, std::vector<Remedy>& list) {
  const auto add = [&](std::string label, auto change) {
    Remedy remedy{std::move(label), wanted};
    change(remedy.settings);
    list.push_back(std::move(remedy));
  };
  const int64_t rows = static_cast<int64_t>(std::max(wanted.dp, 1)) * std::max(wanted.micro_batches, 1);
  const int64_t less = wanted.batch / rows * rows;
  for (const int64_t batch : {less, less + rows}) {
    if (batch > 0 && batch != wanted.batch)
      add(fmt::format("batch {}", batch), [batch](Settings& settings) { settings.batch = batch; });
  }
  for (int dp = wanted.dp - 1; dp >= 1; --dp) {
    Settings changed = wanted;
    changed.dp = dp;
    if (!is_possible(changed)) continue;
    add(fmt::format("D = {}", dp), [dp](Settings& settings) { settings.dp = dp; });
    break;
  }
  if (wanted.micro_batches > 1) add("one part", [](Settings& settings) { settings.micro_batches = 1; });
}

std::vector<Remedy> candidates(const Settings& wanted) {
  std::vector<Remedy> list;
  const auto add = [&](std::string label, auto change) {
    Remedy remedy{std::move(label), wanted};
    change(remedy.settings);
    list.push_back(std::move(remedy));
  };
  // A split is refused only with zero heads and with integers.
  for (const Split& split : named_splits())
    add("split " + split.name, [&split](Settings& settings) { settings.split = split; });
  if (wanted.model.hidden >= 1 && wanted.model.heads >= 1) {
    for (const int tp : nearest_degrees(wanted.model, wanted.block, wanted.tp, wanted.heads_policy)) {
      add(fmt::format("T = {}", tp), [tp](Settings& settings) { settings.tp = tp; });
    }
    if (wanted.heads_policy != HeadsPolicy::Uneven)
      add("run with uneven heads", [](Settings& settings) { settings.heads_policy = HeadsPolicy::Uneven; });
    if (wanted.heads_policy != HeadsPolicy::Padded)
      add("pad with zero heads", [](Settings& settings) { settings.heads_policy = HeadsPolicy::Padded; });
    for (const int64_t heads : head_counts_for(wanted)) {
      add(fmt::format("{} heads", heads), [heads](Settings& settings) { settings.model.heads = heads; });
    }
    for (const int64_t keys : key_head_counts_for(wanted.model))
      add(counted(keys, "key head"), [keys](Settings& settings) { settings.model.kv_heads = keys; });
  }
  if (wanted.operands == Operands::Integer)
    add("normal values", [](Settings& settings) { settings.operands = Operands::Normal; });
  if (wanted.batch < 1) add("batch 1", [](Settings& settings) { settings.batch = 1; });
  if (wanted.seq < 1) add("sequence 1", [](Settings& settings) { settings.seq = 1; });
  if (wanted.seq > wanted.model.positions) {
    add(fmt::format("sequence {}", wanted.model.positions),
        [](Settings& settings) { settings.seq = settings.model.positions; });
  }
  const std::vector<DType> runnable = runnable_dtypes(wanted.block);
  if (std::find(runnable.begin(), runnable.end(), wanted.dtype) == runnable.end()) {
    add("the whole model", [](Settings& settings) { settings = with_block(settings, Block::Model); });
    for (const DType dtype : {DType::Fp32, DType::Fp64})
      add(to_string(dtype), [dtype](Settings& settings) { settings.dtype = dtype; });
  }
  if (wanted.block == Block::Model) add_for_a_whole_model(wanted, list);
  if (wanted.dp > 1 && wanted.block != Block::Model)
    add("D = 1", [](Settings& settings) { settings.dp = 1; });
  if (wanted.layer >= wanted.model.layers) {
    add(fmt::format("layer {}", wanted.model.layers - 1),
        [](Settings& settings) { settings.layer = settings.model.layers - 1; });
  }
  if (wanted.input.kind != InputKind::Normal) {
    add("seeded input", [](Settings& settings) { settings.input = {}; });
  }
  if (wanted.hardware != kThisMachine)
    add("hardware this machine", [](Settings& settings) { settings.hardware = kThisMachine; });
  return list;
}

}  // namespace

bool is_possible(const Settings& settings) {
  try {
    validate_executable(settings);
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::vector<Remedy> remedies(const Settings& wanted, size_t most) {
  std::vector<Remedy> kept;
  if (is_possible(wanted)) return kept;
  for (Remedy& remedy : candidates(wanted)) {
    if (kept.size() == most) break;
    if (is_possible(remedy.settings)) kept.push_back(std::move(remedy));
  }
  return kept;
}

Message split_message(const std::string& message) {
  const size_t colon = message.find(": ");
  const size_t stop = message.find(". ");
  const size_t at = std::min(colon, stop);
  if (at == std::string::npos) return {as_sentence(message), {}};
  return {as_sentence(message.substr(0, at)), as_sentence(message.substr(at + 2))};
}

Model named_by_its_sizes(Model model) {
  for (const Model& preset : model_presets()) {
    Model renamed = model;
    renamed.name = preset.name;
    renamed.title = preset.title;
    if (renamed == preset) return preset;
  }
  model.name = "custom";
  model.title = "custom";
  return model;
}

Split named_by_its_cuts(Split split) {
  for (const Split& named : named_splits()) {
    split.name = named.name;
    if (split == named) return named;
  }
  split.name = "custom";
  return split;
}

}  // namespace shardlens::ui
