// Keeps, saves and shows the steps of a trained model.
#include "engine/train/trained_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/base/error.h"
#include "engine/io/file_problem.h"
#include "engine/runtime/plan.h"
#include "engine/runtime/step_times.h"
#include "engine/train/generate/writing.h"
#include "engine/train/tokenizer/clean_text.h"

namespace shardlens {

void TrainedModel::keep_up_to(int64_t step, const TrainCurve& before) {
  curve.saved_step = step;
  for (const auto& known : before.steps)
    if (known->report.step <= step) curve.steps.push_back(known);
  for (const ValidationReport& known : before.validations)
    if (known.step <= step) curve.validations.push_back(known);
  for (const auto& known : before.texts)
    if (known->step <= step) curve.texts.push_back(known);
}

void TrainedModel::save_if_due() {
  const int64_t every = curve.options.checkpoint_every, step = trainer->steps_done();
  // Without an interval it has a checkpoint since the studio tried to close; its end is saved there.
  const bool is_step_due = every > 0 && step % every == 0;
  if (curve.checkpoint.empty() || (!is_step_due && !curve.done())) return;
  save();
}

void TrainedModel::save() {
  try {
    trainer->save();
    curve.saved_step = trainer->steps_done();
    curve.save_problem.clear();
  } catch (const std::exception& error) {
    curve.save_problem = message_of(error);
  }
}

void TrainedModel::save_rest(const std::function<std::string()>& free_folder) {
  if (!goes_on() || !whole || trainer->steps_done() <= curve.saved_step) return;
  try {
    if (curve.checkpoint.empty()) trainer->save_in(curve.checkpoint = free_folder());
  } catch (const std::exception& error) {
    curve.save_problem = message_of(error);
    return;
  }
  save();
}

bool TrainedModel::writes_now(const WritingWish& wish) const {
  return trainer && curve.can_write() && wish.every > 0 &&
         (trainer->steps_done() % wish.every == 0 || curve.done());
}

void TrainedModel::write(const WritingWish& wish, const std::function<bool()>& goes_on) {
  WrittenText written;
  written.step = trainer->steps_done();
  written.prompt = wish.prompt;
  written.going_on = true;
  curve.writing_problem.clear();
  curve.texts.push_back(std::make_shared<const WrittenText>(written));
  try {
    write_windows(wish, goes_on, written);
    written.going_on = false;
    curve.texts.back() = std::make_shared<const WrittenText>(written);
  } catch (const Error& error) {
    curve.texts.pop_back();
    curve.writing_problem = error.what();
    generator.reset();
  }
}

/// Writes window after window, each as long as a training row. Each begins with the end of the text so far.
void TrainedModel::write_windows(const WritingWish& wish, const std::function<bool()>& goes_on,
                                 WrittenText& written) {
  const Tokenizer& tokenizer = *curve.options.text.tokenizer;
  Settings settings = curve.plan->program.settings;
  settings.weights_path.clear();  // the weights come from the trainer
  require_room_for_ids(tokenizer, settings.model);
  Sampling sampling;
  sampling.temperature = wish.temperature;
  sampling.seed = settings.seed;
  validate(sampling);
  std::vector<int32_t> ids = prompt_tokens(clean_text(wish.prompt), tokenizer);  // as the texts it learns
  if (!generator) generator = std::make_unique<Generator>(settings);
  generator->take_weights(trainer->executor(), curve.plan->program);
  const auto half = static_cast<size_t>(std::max<int64_t>(1, settings.seq / 2));
  for (bool more = true; more && written.tokens < wish.tokens; ++sampling.seed) {
    generator->begin_anew();
    const std::vector<int32_t> begin(ids.end() - static_cast<int64_t>(std::min(half, ids.size())), ids.end());
    const Writing window = write_on(*generator, tokenizer, begin, wish.tokens - written.tokens, sampling,
                                    [&](const auto& piece) {
                                      written.text += piece;
                                      ++written.tokens;
                                      curve.texts.back() = std::make_shared<const WrittenText>(written);
                                      return goes_on();
                                    });
    written.seconds += window.prompt_seconds + window.seconds;
    written.end = window.end;
    more = window.end == WritingEnd::Positions;
    ids.insert(ids.end(), window.token_ids.begin(), window.token_ids.end());
  }
}

void TrainedModel::show_step(const Sampler& sampler, uint64_t version) {
  const Program& program = curve.plan->program;
  shown_step = curve.steps.back()->report.step;
  Result result = begun_result();
  result.samples = sampler.samples();
  result.not_exact = why_not_exact(sampler.plan());
  result.not_compared =
      "A training step is not compared with one rank. To compare the same model with its first weights, go "
      "back to the plan and choose Run.";
  result.gemm_ceiling_flops = curve.ceiling_flops;
  result.provenance = fmt::format("measured in training step {}", shown_step);
  for (int rank = 0; rank < program.tp(); ++rank)
    result.high_water_bytes.push_back(trainer->executor().high_water_bytes(rank));
  if (events_step > 0) {
    set_times(result, last_events);
    result.provenance =
        fmt::format("measured: values of training step {}, times of step {}", shown_step, events_step);
  }
  Snapshot shown = snapshot_of(std::move(result), version);
  shown.state = RunState::Done;
  shown.position = program.steps.size();
  last_shown = std::make_shared<const Snapshot>(std::move(shown));
}

void TrainedModel::show_failure(const RunFailed& error, uint64_t version) {
  const Program& program = curve.plan->program;
  const Executor& executor = trainer->executor();
  shown_step = trainer->steps_done() + 1;
  Result result = begun_result();
  result.samples = Sampler(program).samples();
  result.events = executor.events(program.tp() * program.dp());
  result.not_compared = "A training step is not compared with one rank.";
  result.provenance = fmt::format("measured in training step {}, until it failed", shown_step);
  Snapshot shown = snapshot_of(std::move(result), version);
  shown.state = RunState::Failed;
  shown.position = executor.position();
  shown.message = error.what();
  shown.failure = error.failure();
  last_shown = std::make_shared<const Snapshot>(std::move(shown));
}

/// The fields that every shown training step has.
Result TrainedModel::begun_result() const {
  Result result;
  result.plan = curve.plan;
  result.communicator = curve.communicator;
  result.machine = machine_description(curve.plan->program.settings);
  return result;
}
Snapshot TrainedModel::snapshot_of(Result result, uint64_t version) const {
  Snapshot shown;
  shown.version = version;
  shown.settings = curve.plan->program.settings;
  shown.plan = curve.plan;
  shown.result = std::make_shared<const Result>(std::move(result));
  return shown;
}

}  // namespace shardlens
