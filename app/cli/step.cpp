// `step`: runs one forward and backward pass, and can write full tensors, gathered from the ranks, to a file.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "app/cli/heads_report.h"
#include "app/cli/late_report.h"
#include "app/cli/step_options.h"
#include "app/cli/verbs.h"
#include "app/command_line/outputs.h"
#include "engine/base/units.h"
#include "engine/io/json_text.h"
#include "engine/io/safetensors.h"
#include "engine/runtime/dump.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/gather.h"
#include "engine/runtime/plan.h"
#include "engine/runtime/sampler.h"
#include "engine/runtime/step_times.h"

namespace shardlens::cli {
namespace {

using nlohmann::ordered_json;

}  // namespace

Verb add_step(CLI::App& app) {
  auto options = std::make_shared<CommonOptions>();
  auto model_options = std::make_shared<ModelStepOptions>();
  auto record = std::make_shared<RecordOptions>();
  auto dump = std::make_shared<std::string>();
  add_common(app, *options);
  add_run_options(app, *options, {Part::Delay});
  add_model_step(app, *model_options);
  add_record_options(app, *record);
  app.add_option(
         "--dump", *dump,
         "Writes full tensors as safetensors, into a file that nobody has. A whole model: loss, losses, "
         "logits, hidden, "
         "grad.<name> and, after updates, param.<name>. A layer: X, hidden (its output), grad.Y, grad.X, "
         "grad.<name>. Names and shapes are those of a checkpoint")
      ->check(free_output(kTensorsFile));  // an existing file might be a checkpoint's weights
  add_overwrite(app);
  app.footer(R"(
A whole model takes any T up to 64 here. If T does not divide the heads or the key heads, they are cut unevenly,
unless --heads-policy is given.

Examples
  shardlens-cli step --model gpt2-tiny --tp 2 --updates 10 --lr 1e-3
  shardlens-cli step --model FOLDER --tokens tokens.npy --tp 2 --dp 2 --dtype fp64 \
      --dump out.safetensors
  shardlens-cli step --model gpt2 --layer --tp 4 --dump layer.safetensors
  shardlens-cli step --model gpt2 --layer --tp 4 --delay 2:attn.proj:20  what waiting costs
  shardlens-cli step --model gpt2 --layer 3 --weights model.safetensors --input x.npy --batch 1 \
      --seq 64
)");
  return [options, model_options, record, dump, &app] {
    if (!is_whole_model(*options)) refuse_model_step(app);
    require_different_files({{"--dump", *dump}, {"--record", record->path}});
    const auto place = take_place("--dump", *dump, kTensorsFile);
    if (is_whole_model(*options)) return run_model_step(app, *options, *model_options, *record, *dump);
    const std::shared_ptr<const Plan> plan = make_plan(to_settings(*options));
    check_runnable(*plan);
    const Program& program = plan->program;
    Executor executor(plan);
    auto gather = std::make_shared<Gather>(
        program.tp(), [&](const Tensor& tensor) { return !dump->empty() && is_in_layer_dump(tensor); });
    const auto recorder = make_recorder(*record, "step", *plan, executor.communicator());
    std::vector<std::shared_ptr<StepObserver>> observers{std::make_shared<FiniteCheck>(program.tp()), gather};
    if (recorder && recorder->pictures()) observers.push_back(recorder->pictures());
    run_recorded(recorder, [&] {
      executor.observe(observers);
      executor.start(executor.steps());
      executor.wait();
      if (!dump->empty()) write_dump(*dump, layer_dump(program, *gather));
      // The first pass used new memory and was observed, so time a second one.
      executor.observe({});
      executor.rewind();
      executor.start(executor.steps());
      executor.wait();
      if (recorder) recorder->take(executor);  // the times of this pass, the pictures of the first
    });
    const int recorded = finish_recording(recorder.get(), *record, options->json ? stderr : stdout);
    double seconds = 0;
    for (int rank = 0; rank < program.tp(); ++rank) {
      seconds = std::max(seconds, executor.trace(rank).event(program.steps.size() - 1).end_seconds);
    }
    std::vector<double> attention;
    for (int rank = 0; rank < program.tp(); ++rank)
      attention.push_back(attention_seconds(program, executor.trace(rank)));
    const std::vector<Lateness> late = last_lateness(program, executor);
    if (options->json) {
      ordered_json out = {
          {"step_seconds", seconds}, {"steps", program.steps.size()}, {"ranks", program.tp()}};
      out["high_water_bytes_per_rank"] = ordered_json::array();
      for (int rank = 0; rank < program.tp(); ++rank) {
        out["high_water_bytes_per_rank"].push_back(total_bytes(executor.high_water_bytes(rank)));
      }
      out["heads"] = heads_json(*plan, attention);
      out["late"] = late_json(program, late);
      if (!dump->empty()) out["dump"] = *dump;
      fmt::print("{}\n", json_text(out));
      return recorded;
    }
    fmt::print("{} steps on {} ranks ({}: {}): {:.2f} ms, measured on {}\n", program.steps.size(),
               program.tp(), executor.communicator().name, executor.communicator().reason, seconds * 1e3,
               machine_description(program.settings));
    print_late(stdout, program, late);
    for (int rank = 0; rank < program.tp(); ++rank) {
      const int64_t measured = total_bytes(executor.high_water_bytes(rank));
      const int64_t planned = total_bytes(plan->memory[static_cast<size_t>(rank)].arena_bytes);
      fmt::print("  rank {}: high-water {} bytes, planned {}\n", rank, grouped_text(measured),
                 grouped_text(planned));
    }
    const std::string heads = heads_line(*plan, attention);
    if (!heads.empty()) fmt::print("  {}\n", heads);
    if (!dump->empty()) fmt::print("dump: {}\n", *dump);
    return recorded;
  };
}

}  // namespace shardlens::cli
