// Trains a small model with a skipped all-reduce beside the sound one.
#include "engine/train/experiments/figures_of_runs.h"

#include <fmt/format.h>

#include <cmath>

#include "engine/cost/figures_parts.h"
#include "engine/cost/growth.h"
#include "engine/planner/parameters.h"
#include "engine/train/data/train_data.h"
#include "engine/train/experiments/break_run.h"

namespace shardlens {
namespace {

// A GPT of a million parameters, small enough to be trained while somebody waits for a page.
Settings small_training() {
  constexpr int64_t kSequence = 32;
  Settings settings;
  settings.block = Block::Model;
  settings.model = growth_model(0, kSequence);
  settings.tp = 2;
  settings.batch = 4;
  settings.seq = kSequence;
  settings.update = true;
  return settings;
}

WorkedFigure skipped(Fault fault, const char* which) {
  const Settings settings = small_training();
  const TrainData data = open_built_in_text(settings.model);
  const BreakRequest request{settings, fault};
  BreakRun run(request, make_batches(data.train, *data.tokenizer, settings, settings.seed), kBuiltInText);
  while (!run.done()) run.step();
  const LossVerdict verdict = loss_verdict(run.report());
  WorkedFigure figure{
      fmt::format("the loss after {} steps with {} left out", request.steps, which),
      kBook,
      "trains to garbage",
      "a model that learns nothing guesses: ln of the vocabulary's size",
      std::log(static_cast<double>(settings.model.vocab)),
      verdict.broken,
      "loss",
      fmt::format("measured here, at the end of a training of {:.1f} million parameters. The sound run is at "
                  "{:.3f}; the two are {:.2g} apart in a step, and from one step to the next the sound one "
                  "moves {:.2g}: the curve alone {}",
                  static_cast<double>(parameter_count(settings.model)) / 1e6, verdict.sound, verdict.apart,
                  verdict.ordinary, verdict.looks_healthy ? "looks healthy" : "shows it")};
  figure.settings = settings;
  figure.shown_by = ShownBy::BreakIt;
  figure.fault = fault;
  return figure;
}

}  // namespace

std::vector<WorkedFigure> figures_of_runs() {
  return {skipped(Fault::SkipG, "g's all-reduce"), skipped(Fault::SkipF, "f's all-reduce")};
}

std::vector<WorkedFigure> all_figures() {
  std::vector<WorkedFigure> figures = worked_figures();
  for (WorkedFigure& figure : figures_of_runs()) figures.push_back(std::move(figure));
  return figures;
}

}  // namespace shardlens
