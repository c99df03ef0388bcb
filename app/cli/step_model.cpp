// `step` on a whole model: reads tokens, computes loss and gradients, with or without updates. Its dump is
// used to compare other implementations with this one.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "app/cli/batch_files.h"
#include "app/cli/heads_report.h"
#include "app/cli/late_report.h"
#include "app/cli/or_null.h"
#include "app/cli/step_options.h"
#include "app/command_line/live_line.h"
#include "app/command_line/messages.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/config/heads.h"
#include "engine/io/json_text.h"
#include "engine/runtime/dump.h"
#include "engine/runtime/plan.h"
#include "engine/train/model_step.h"

namespace shardlens::cli {
namespace {

constexpr const char* kWholeModelGroup = "Whole model";

using nlohmann::ordered_json;

// The run takes its sizes from the file of tokens. Throws a request Error if --batch or --seq differ from
// them.
void require_same_sizes(const CLI::App& app, const CommonOptions& asked, const Settings& has,
                        const std::string& tokens) {
  for (const auto& [option, wanted, found] :
       {std::tuple{"--batch", asked.batch, has.batch}, {"--seq", asked.seq, has.seq}}) {
    if (app.get_option(option)->count() > 0 && wanted != found)
      throw request_error(
          fmt::format("{} {} does not match --tokens {}: the file has batch {} × sequence {}; leave out {}",
                      option, wanted, tokens, has.batch, has.seq, option));
  }
}

// Says before the run that it has nothing to learn from: a loss of 0 looks like a very good one.
void say_without_labels(const ModelStepOptions& o, const Batch& batch) {
  const auto none = [](const std::vector<int32_t>& labels) {
    return std::ranges::all_of(labels, [](int32_t label) { return label == kIgnoredLabel; });
  };
  if (!none(batch.labels)) return;
  if (none(batch.sentence_labels))
    say("no label counts in the loss, so the loss and every gradient are 0: a label of -100 is ignored; give "
        "others in --labels or --sop");
  else if (!o.labels.empty())
    say(fmt::format("every label in {} is -100 (ignored), so the words have no part in the loss", o.labels));
}

// A skipped pass has no norm: null.
ordered_json norms_json(const ModelStepResult& result) {
  ordered_json norms = ordered_json::array();
  for (size_t i = 0; i < result.gradient_norms.size(); ++i)
    norms.push_back(or_null(result.gradient_norms[i], !result.skipped[i]));
  return norms;
}

}  // namespace

void add_model_step(CLI::App& app, ModelStepOptions& o) {
  const std::string group = kWholeModelGroup;
  app.add_option("--tokens", o.tokens,
                 "FILE.npy, int32 or int64: [B, S+1] for GPT (labels are the next tokens), [B, S] for BERT; "
                 "seeded if left out")
      ->group(group);
  app.add_option("--labels", o.labels, "BERT: FILE.npy [B, S], -100 is ignored")->group(group);
  app.add_option("--token-types", o.token_types, "BERT: FILE.npy [B, S], 0 or 1")->group(group);
  app.add_option("--attention-mask", o.attention_mask, "BERT: FILE.npy [B, S], 0 at padding")->group(group);
  app.add_option("--sop", o.sop, "BERT: FILE.npy [B], sentence-order labels")->group(group);
  app.add_option("--updates", o.updates, "Optimizer updates on this batch; 0: gradients only")
      ->group(group)
      ->capture_default_str();
  app.add_option("--lr", o.learning_rate, "Learning rate, constant")->group(group)->capture_default_str();
  app.add_option("--weight-decay", o.optimizer.weight_decay, "On matrices and embeddings")
      ->group(group)
      ->capture_default_str();
  app.add_option("--clip", o.optimizer.clip, "Largest global norm of the gradients; 0: not clipped")
      ->group(group)
      ->capture_default_str();
  app.add_option("--beta1", o.optimizer.beta1, "Adam's")->group(group)->capture_default_str();
  app.add_option("--beta2", o.optimizer.beta2, "Adam's")->group(group)->capture_default_str();
  app.add_option("--eps", o.optimizer.epsilon, "Adam's")->group(group)->capture_default_str();
}

void refuse_model_step(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group() == kWholeModelGroup && option->count() > 0)
      throw request_error(option->get_name() +
                          " is for a whole model: leave it out, or leave out --layer and --block");
  }
}

int run_model_step(const CLI::App& app, const CommonOptions& common, const ModelStepOptions& o,
                   const RecordOptions& record, const std::string& dump_path) {
  Settings settings = to_settings(common);
  // This verb is used to compare other implementations with this one at any T, so it accepts any number of
  // heads.
  if (common.heads_policy.empty() && settings.tp > 0 && !divides_heads(settings.model, settings.tp))
    settings.heads_policy = HeadsPolicy::Uneven;
  if (!std::isfinite(o.learning_rate) || o.learning_rate < 0)
    throw request_error(fmt::format("--lr {}: give a number of 0 or more, such as 1e-3", o.learning_rate));
  if (o.updates < 0) throw request_error(fmt::format("--updates {}: give 0 or more", o.updates));
  settings.update = o.updates > 0;
  settings.optimizer = o.optimizer;
  ModelStepRequest request;
  request.updates = o.updates;
  request.learning_rate = o.learning_rate;
  request.dump = !dump_path.empty();
  for (const auto& [name, path] : {std::pair{"--labels", &o.labels},
                                   {"--token-types", &o.token_types},
                                   {"--attention-mask", &o.attention_mask},
                                   {"--sop", &o.sop}}) {
    if (o.tokens.empty() && !path->empty())
      throw request_error(fmt::format("{} {} needs the tokens it belongs to: add --tokens", name, *path));
  }
  std::optional<BatchFiles> files;
  if (!o.tokens.empty()) {
    files.emplace(o, settings.model);
    settings.batch = files->batch();
    settings.seq = files->seq();
    require_same_sizes(app, common, settings, o.tokens);
    const int64_t parts =
        static_cast<int64_t>(std::max(1, settings.dp)) * std::max(1, settings.micro_batches);
    settings.batch = (settings.batch + parts - 1) / parts * parts;
  }
  const std::shared_ptr<const Plan> plan = make_plan(settings);
  if (files) {
    check_runnable(*plan);  // sizes that cannot run are refused before the files are read
    request.batch = std::make_shared<const Batch>(files->read());
    say_without_labels(o, *request.batch);
  }
  std::unique_ptr<Recorder> recorder;
  std::vector<Lateness> late;
  request.observer = [&](const Executor& executor) {
    recorder = make_recorder(record, "step", *plan, executor.communicator());
    return recorder ? recorder->pictures() : nullptr;
  };
  LiveLine line(stderr);
  request.after_pass = [&, done = 0](const Executor& executor, double loss) mutable {
    if (recorder) recorder->take(executor, {{"loss", loss}, {"learning_rate", o.learning_rate}});
    late = last_lateness(plan->program, executor);
    ++done;
    if (o.updates > 0 && line.is_due())
      line.show(fmt::format("update {} of {}: loss {:.6f}", done, o.updates, loss));
  };
  ModelStepResult result;
  run_recorded(recorder, [&] { result = shardlens::run_model_step(plan, request); });
  line.clear();
  const int recorded = finish_recording(recorder.get(), record, common.json ? stderr : stdout);
  if (request.dump) write_dump(dump_path, result.dump);
  if (common.json) {
    ordered_json out = {{"loss", result.losses.back()},
                        {"losses", result.losses},
                        {"gradient_norms", norms_json(result)},
                        {"skipped", result.skipped},
                        {"step_seconds", result.pass_seconds},
                        {"steps", plan->program.steps.size()},
                        {"ranks", settings.tp},
                        {"replicas", settings.dp},
                        {"high_water_bytes_per_rank", result.high_water_bytes}};
    out["heads"] = heads_json(*plan, result.attention_seconds);
    out["late"] = late_json(plan->program, late);
    if (request.dump) out["dump"] = dump_path;
    fmt::print("{}\n", json_text(out));
    return recorded;
  }
  fmt::print("{} · T = {} · D = {} · {} · batch {} × sequence {}\n", settings.model.title, settings.tp,
             settings.dp, to_string(settings.dtype), settings.batch, settings.seq);
  for (size_t i = 0; i < result.losses.size(); ++i) {
    const std::string norm = i >= result.gradient_norms.size() ? ""
                             : result.skipped[i]
                                 ? "  skipped: a gradient overflowed under the loss scale, which is halved"
                                 : fmt::format("  gradient norm {:.6f}", result.gradient_norms[i]);
    fmt::print("  pass {:>3}  loss {:.9f}{}\n", i, result.losses[i], norm);
  }
  fmt::print("{} steps ({}: {}), last pass {:.2f} ms, measured on {}\n", plan->program.steps.size(),
             result.communicator.name, result.communicator.reason, result.pass_seconds * 1e3,
             machine_description(plan->program.settings));
  print_late(stdout, plan->program, late);
  for (size_t rank = 0; rank < result.high_water_bytes.size(); ++rank) {
    const int64_t planned = total_bytes(plan->memory[rank % static_cast<size_t>(settings.tp)].arena_bytes);
    fmt::print("  rank {}: high-water {} bytes, planned {}\n", rank,
               grouped_text(result.high_water_bytes[rank]), grouped_text(planned));
  }
  const std::string heads = heads_line(*plan, result.attention_seconds);
  if (!heads.empty()) fmt::print("  {}\n", heads);
  if (request.dump) fmt::print("dump: {}\n", dump_path);
  return recorded;
}

}  // namespace shardlens::cli
