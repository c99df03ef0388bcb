// Turns choices into settings.
#include "ui/panels/train/train_choices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/base/counted.h"
#include "engine/config/presets.h"
#include "engine/config/splits.h"
#include "engine/config/validate.h"

namespace shardlens::ui {
namespace {

constexpr int64_t kValidations = 20;         // in a whole run
constexpr int64_t kValidationTokens = 2048;  // each, whose loss counts; a seventh of a BERT's tokens do
constexpr double kLowestShare = 0.1;         // of the peak: where the decay ends

TrainOptions options_of(const TrainChoices& choices) {
  TrainOptions options;
  Settings& settings = options.settings;
  settings.model = model_preset(choices.model);
  settings.model.layers = choices.layers;
  settings.split = named_split("megatron");
  settings.block = Block::Model;
  settings.update = true;
  settings.tp = choices.tp;
  settings.dp = choices.dp;
  settings.dtype = choices.dtype;
  settings.batch = choices.batch;
  settings.seq = choices.seq;
  settings.dropout = choices.dropout;
  options.steps = choices.steps;
  options.schedule = {.peak = choices.peak,
                      .lowest = choices.decay == Decay::Constant ? choices.peak : kLowestShare * choices.peak,
                      .warmup = std::min(choices.warmup, choices.steps),
                      .steps = choices.steps,
                      .decay = choices.decay};
  options.validate_every = std::max<int64_t>(1, choices.steps / kValidations);
  const bool bert = settings.model.objective == Objective::MaskedWords;
  options.validation_rows =
      std::max<int64_t>(1, (bert ? 7 : 1) * kValidationTokens / std::max<int64_t>(1, settings.seq));
  options.checkpoint_every = choices.checkpoint_every;
  settings.timeout_seconds = choices.timeout_seconds;
  return options;
}

}  // namespace

TrainChoices comparison_choices(Objective family) {
  TrainChoices choices;
  if (family == Objective::MaskedWords) {
    choices.model = "bert-deep-tiny";
    choices.layers = 12;
    choices.batch = 128;
    choices.seq = 32;
    choices.steps = 1000;
    choices.peak = 3e-3;
    choices.warmup = 50;
    return choices;
  }
  choices.model = "gpt2-tiny";
  choices.layers = 12;
  choices.tp = 2;
  choices.batch = 8;
  choices.seq = 64;
  choices.steps = 200;
  choices.peak = 1e-3;
  choices.warmup = 0;
  choices.decay = Decay::Linear;
  return choices;
}

WritingWish writing_choices() {
  WritingWish wish;
  wish.every = 50;
  return wish;
}

std::string difference(const TrainChoices& of, const TrainChoices& from) {
  std::vector<std::string> parts;
  const auto add = [&](bool differs, std::string words) {
    if (differs) parts.push_back(std::move(words));
  };
  add(of.model != from.model, model_preset(of.model).title);
  add(of.layers != from.layers, counted(of.layers, "layer"));
  add(of.tp != from.tp, fmt::format("T = {}", of.tp));
  add(of.dp != from.dp, fmt::format("D = {}", of.dp));
  add(of.dtype != from.dtype, to_string(of.dtype));
  add(of.batch != from.batch, fmt::format("batch {}", of.batch));
  add(of.seq != from.seq, fmt::format("sequence {}", of.seq));
  add(of.steps != from.steps, counted(of.steps, "step"));
  add(of.peak != from.peak, fmt::format("rate {:g}", of.peak));
  add(of.warmup != from.warmup, fmt::format("warm-up {}", counted(of.warmup, "step")));
  add(of.decay != from.decay, to_string(of.decay) + " decay");
  add(of.dropout != from.dropout, fmt::format("dropout {:g}", of.dropout));
  add(of.text != from.text, of.text.empty() ? "the built-in text" : "text " + of.text);
  add(of.checkpoint_every != from.checkpoint_every,
      of.checkpoint_every == 0 ? "no checkpoints"
                               : fmt::format("a checkpoint every {}", counted(of.checkpoint_every, "step")));
  add(of.timeout_seconds != from.timeout_seconds, of.timeout_seconds == 0
                                                      ? "ranks that wait for ever"
                                                      : fmt::format("lost after {:g} s", of.timeout_seconds));
  return fmt::format("{}", fmt::join(parts, ", "));
}

train_command::Start training_of(const TrainChoices& choices) {
  TrainOptions options = options_of(choices);
  return {{{options.settings.model.title, std::move(options)}}, choices.text};
}

TrainChoices choices_of(const TrainOptions& options) {
  const Settings& settings = options.settings;
  TrainChoices choices;
  for (const Model& preset : model_presets())
    if (preset.name == settings.model.name) choices.model = preset.name;
  choices.layers = settings.model.layers;
  choices.tp = settings.tp;
  choices.dp = settings.dp;
  choices.dtype = settings.dtype;
  choices.batch = settings.batch;
  choices.seq = settings.seq;
  choices.steps = options.steps;
  choices.peak = options.schedule.peak;
  choices.warmup = options.schedule.warmup;
  choices.decay = options.schedule.decay;
  choices.dropout = settings.dropout;
  choices.checkpoint_every = options.checkpoint_every;
  choices.timeout_seconds = settings.timeout_seconds;
  return choices;
}

std::vector<train_command::Model> both_norms(TrainOptions options) {
  TrainOptions pre = options;
  options.settings.model.norm = NormPlacement::Post;
  pre.settings.model.norm = NormPlacement::Pre;
  return {{"post-LN", std::move(options)}, {"pre-LN", std::move(pre)}};
}

train_command::Start comparison_of(const TrainChoices& choices) {
  return {both_norms(options_of(choices)), choices.text};
}

TrainChoices with_model(TrainChoices choices, const std::string& preset) {
  const Model model = model_preset(preset);
  choices.model = preset;
  choices.layers = model.layers;
  choices.seq = std::min(choices.seq, model.positions);
  const std::vector<int> possible = possible_degrees(model, Block::Model);
  const auto above = std::upper_bound(possible.begin(), possible.end(), choices.tp);
  choices.tp = above == possible.begin() ? 1 : *(above - 1);
  return choices;
}

TrainChoices compared_with_model(TrainChoices choices, const std::string& preset) {
  const Objective family = model_preset(preset).objective;
  if (family == model_preset(choices.model).objective) return with_model(std::move(choices), preset);
  const TrainChoices other = comparison_choices(family);
  return preset == other.model ? other : with_model(other, preset);
}

}  // namespace shardlens::ui
