// `train`: trains a model on a text, sharded over T x D ranks.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "app/cli/late_report.h"
#include "app/cli/options.h"
#include "app/cli/or_null.h"
#include "app/cli/record.h"
#include "app/cli/text_options.h"
#include "app/cli/train_report.h"
#include "app/cli/verbs.h"
#include "app/cli/world.h"
#include "app/command_line/request.h"
#include "app/command_line/signals.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/config/splits.h"
#include "engine/io/json_text.h"
#include "engine/planner/parameters.h"
#include "engine/runtime/plan.h"
#include "engine/train/data/train_data.h"
#include "engine/train/recorded_training.h"
#include "engine/train/trainer.h"

namespace shardlens::cli {
namespace {

using nlohmann::ordered_json;

struct TrainVerbOptions {
  CommonOptions common;
  std::string data, tokenizer;
  int64_t steps = 1000;
  int64_t decay_steps = 0;
  double learning_rate = 3e-4, lowest_rate = 0;
  double loss_scale = LossScaler::kFirstScale;
  int64_t warmup = 0;
  std::string decay = "cosine";
  OptimizerSettings optimizer;
  int64_t validate_every = 0, validate_rows = kValidationRows, checkpoint_every = 0;
  std::string checkpoint, resume, log;
  bool restart = false;
  RecordOptions record;
  CLI::App* verb = nullptr;

  bool given(const std::string& option) const { return verb->get_option(option)->count() > 0; }
};

std::atomic<bool> stop_requested{false};
std::atomic<int> stopped_by{0};  // the signal

// The first Ctrl+C ends the run after its step; the second one ends the program at once.
void stop_after_step(int signal) {
  stopped_by = signal;
  stop_requested = true;
  std::signal(signal, end_by_signal);
}

void say_and_stop_after_step(int signal) {
  constexpr std::string_view kSaid =
      "\nThe run ends after this step, and saves if --checkpoint was given. Press again to end at once, "
      "unsaved.\n";
  const int kept = errno;
  [[maybe_unused]] const ssize_t told = write(STDERR_FILENO, kSaid.data(), kSaid.size());
  errno = kept;
  stop_after_step(signal);
}

// The limit on the program's time, which the system repeats every second until it ends the program.
void stop_at_time_limit(int signal) {
  constexpr std::string_view kSaid =
      "\nThe limit on this program's time (ulimit -t) is reached: the run ends after this step, and saves if "
      "--checkpoint was given.\n";
  const int kept = errno;
  if (!stop_requested) {
    [[maybe_unused]] const ssize_t told = write(STDERR_FILENO, kSaid.data(), kSaid.size());
  }
  errno = kept;
  stopped_by = signal;
  stop_requested = true;
}

// SIGHUP (a closed terminal) also ends the run after its step, but prints nothing. If SIGHUP was ignored at
// the start, as with nohup, it stays ignored.
void stop_on_signals() {
  struct sigaction action {};
  action.sa_handler = say_and_stop_after_step;
  sigaction(SIGINT, &action, nullptr);
  action.sa_handler = stop_at_time_limit;
  sigaction(SIGXCPU, &action, nullptr);
  struct sigaction before {};
  action.sa_handler = stop_after_step;
  if (sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
    sigaction(SIGHUP, &action, nullptr);
  action.sa_sigaction = [](int signal, siginfo_t* sender, void*) {
    heed_mpirun(*sender);
    stop_after_step(signal);
  };
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGTERM, &action, nullptr);
}

void add_options(CLI::App& verb, TrainVerbOptions& o) {
  o.verb = &verb;
  o.common.model = "gpt2-tiny";
  o.common.batch = 8;
  o.common.seq = 128;
  add_model_options(verb, o.common);
  add_run_options(verb, o.common, {Part::Delay});
  const std::string group = "Training";
  const auto option = [&](const char* name, auto& value, const char* help) {
    verb.add_option(name, value, help)->group(group)->capture_default_str();
  };
  option("--data", o.data,
         "A text (a file, a folder, or the word sample), a folder made by `data`, or a .tokens file");
  option(
      "--tokenizer", o.tokenizer,
      "For a text: a tokenizer's file or folder, bytes, or wordpiece:N or sentencepiece:N to learn one. If "
      "left out: the model folder's tokenizer, else bytes for a GPT and a learned WordPiece for a BERT");
  option("--steps", o.steps, "Total number of steps, including those before --resume");
  option("--lr", o.learning_rate,
         "Highest learning rate: of the last warm-up step. Without warm-up the decay begins in step 1");
  option("--min-lr", o.lowest_rate,
         "Learning rate at the end of the decay; with 0 the step at its end changes nothing");
  option("--warmup", o.warmup, "Steps in which the learning rate rises to --lr; step 1 has --lr / --warmup");
  option(
      "--decay", o.decay,
      "cosine, linear or constant: step s has the factor that transformers' schedules have at s; a PyTorch "
      "loop has it one update later");
  option("--decay-steps", o.decay_steps, "Step at which the decay ends; 0: --steps");
  option("--weight-decay", o.optimizer.weight_decay, "On matrices and embeddings");
  option("--clip", o.optimizer.clip, "Largest global norm of the gradients; 0: not clipped");
  option("--beta1", o.optimizer.beta1, "Adam's");
  option("--beta2", o.optimizer.beta2, "Adam's");
  option("--eps", o.optimizer.epsilon, "Adam's");
  option(
      "--loss-scale", o.loss_scale,
      "fp16: first loss scale. When gradients overflow, the step is skipped and the scale is halved; after "
      "2000 good steps it is doubled. A skipped step counts for --steps and the schedule, but is no update");
  option("--validate-every", o.validate_every, "Steps between validations; 0: none");
  option(
      "--validate-rows", o.validate_rows,
      "Rows of --seq tokens, from the validation text's beginning, that each validation reads; 0: all. The "
      "loss is a mean over their tokens, whatever --batch");
  option("--checkpoint", o.checkpoint, "Folder the run is saved to");
  option("--checkpoint-every", o.checkpoint_every, "Steps between saves; 0: only at the end");
  option("--resume", o.resume, "Folder of a checkpoint to continue from, on the same or another T and D");
  verb.add_flag("--restart", o.restart,
                "Continues from the checkpoint in --checkpoint, or begins if there is none yet. So the same "
                "command serves for the first start and after every crash. --record then writes "
                "FILE-2.shardlens, FILE-3.shardlens, …, and keeps the recordings of earlier starts")
      ->group(group);
  option("--log", o.log, "FILE.csv with every step; a resumed run appends to its own file");
  add_record_options(verb, o.record, {});
  add_overwrite(verb);
}

// Settings that decide the run's numbers come from its checkpoint. Settings of how it runs can be chosen
// again.
TrainOptions to_resume_options(const TrainVerbOptions& o) {
  for (const char* fixed :
       {"--model",        "--norm",    "--kv-heads", "--weights", "--dtype",  "--batch",     "--seq",
        "--seed",         "--dropout", "--lr",       "--min-lr",  "--warmup", "--decay",     "--decay-steps",
        "--weight-decay", "--clip",    "--beta1",    "--beta2",   "--eps",    "--loss-scale"}) {
    if (!o.given(fixed)) continue;
    throw request_error(
        fmt::format("{} is fixed by the checkpoint; leave it out with --resume, or begin a new run "
                    "from its weights with --model {}",
                    fixed, o.resume));
  }
  TrainOptions options = resume_options(o.resume);
  Settings& settings = options.settings;
  if (o.given("--tp")) settings.tp = o.common.tp;
  if (o.given("--heads-policy")) settings.heads_policy = parse_heads_policy(o.common.heads_policy);
  if (o.given("--dp")) settings.dp = o.common.dp;
  if (o.given("--micro-batches")) settings.micro_batches = o.common.micro_batches;
  if (o.given("--recompute")) settings.recompute = parse_recompute(o.common.recompute);
  if (o.given("--fusion")) settings.fusion = parse_fusion(o.common.fusion);
  if (o.given("--split")) settings.split = find_split(o.common.split);
  if (o.given("--loss")) settings.split.loss = parse_loss_form(o.common.loss);
  if (o.given("--overlap-chunks")) settings.overlap_chunks = o.common.overlap_chunks;
  if (o.given("--hardware")) settings.hardware = o.common.hardware;
  // Another backend does not take the GPUs and the communicator of the first run.
  const bool other_backend = o.given("--backend");
  if (other_backend) settings.backend = parse_backend(o.common.backend);
  if (other_backend || o.given("--gpu")) settings.gpus = parse_gpus(o.common.gpus);
  if (other_backend || o.given("--comm")) settings.communicator = parse_communicator(o.common.comm);
  if (other_backend || o.given("--tf32")) settings.tf32 = o.common.tf32;
  settings.threads_per_rank = o.common.threads_per_rank;
  settings.delays = parse_delays(o.common.delays);
  settings.timeout_seconds = o.common.timeout_seconds;
  if (o.given("--steps")) options.steps = o.steps;
  if (o.given("--checkpoint")) options.checkpoint = o.checkpoint;
  return options;
}

// Checks that --restart repeats the command of the first start: all settings that decide the numbers must be
// those of the checkpoint, or the result would not be that of one run.
void require_same_run(const TrainOptions& wanted, const TrainingState& saved) {
  const Settings& now = wanted.settings;
  const Settings& then = saved.settings;
  const auto same = [&](const char* option, const auto& asked, const auto& had) {
    if (asked == had) return;
    throw request_error(
        fmt::format("the checkpoint in {} was trained with {} {}, not {}: --restart repeats the command of "
                    "the first start; give the first value, or another --checkpoint",
                    wanted.checkpoint, option, had, asked));
  };
  same("--model", now.model.name, then.model.name);
  if (!(now.model == then.model)) {
    throw request_error(
        fmt::format("the checkpoint in {} holds a different {}: give the same --model, --norm and "
                    "--kv-heads, or another --checkpoint",
                    wanted.checkpoint, then.model.title));
  }
  same("--dtype", to_string(now.dtype), to_string(then.dtype));
  same("--batch", now.batch, then.batch);
  same("--seq", now.seq, then.seq);
  same("--seed", now.seed, then.seed);
  same("--dropout", now.dropout, then.dropout);
  same("--weight-decay", now.optimizer.weight_decay, then.optimizer.weight_decay);
  same("--clip", now.optimizer.clip, then.optimizer.clip);
  same("--beta1", now.optimizer.beta1, then.optimizer.beta1);
  same("--beta2", now.optimizer.beta2, then.optimizer.beta2);
  same("--eps", now.optimizer.epsilon, then.optimizer.epsilon);
  same("--lr", wanted.schedule.peak, saved.schedule.peak);
  same("--min-lr", wanted.schedule.lowest, saved.schedule.lowest);
  same("--warmup", wanted.schedule.warmup, saved.schedule.warmup);
  same("--decay", to_string(wanted.schedule.decay), to_string(saved.schedule.decay));
  if (wanted.schedule.steps != saved.schedule.steps && wanted.schedule.steps == wanted.steps) {
    throw request_error(fmt::format(
        "the learning rate of the checkpoint in {} decays over {} steps, but without --decay-steps it would "
        "now decay over {}: give --steps {} as for the first start, or add --decay-steps {}",
        wanted.checkpoint, saved.schedule.steps, wanted.steps, saved.schedule.steps, saved.schedule.steps));
  }
  same("--decay-steps", wanted.schedule.steps, saved.schedule.steps);
}

void restart(const TrainVerbOptions& o, TrainOptions& options) {
  if (o.checkpoint.empty()) throw request_error("--restart continues a checkpoint: add --checkpoint FOLDER");
  if (!is_checkpoint(o.checkpoint)) return;
  require_same_run(options, read_training_state(o.checkpoint));
  options.resume = o.checkpoint;
}

// With --restart, a start after a crash records into a new file and keeps the earlier one.
RecordOptions place_of_recording(const TrainVerbOptions& o) {
  RecordOptions record = o.record;
  if (record.path.empty()) return record;
  if (o.restart) {
    record.path = free_recording_path(record.path);
  } else {
    try {
      require_replaceable(record.path, kRecordingFile);
    } catch (const Error& taken) {
      throw request_error(fmt::format("--record: {}", taken.what()));
    }
  }
  return record;
}

TrainOptions to_train_options(const TrainVerbOptions& o) {
  for (const auto& [name, value] :
       {std::pair{"--validate-every", o.validate_every}, std::pair{"--checkpoint-every", o.checkpoint_every},
        std::pair{"--decay-steps", o.decay_steps}}) {
    if (value < 0) throw request_error(fmt::format("{} {}: give 0 or more", name, value));
  }
  if (o.restart && !o.resume.empty())
    throw request_error("--restart continues --checkpoint, --resume its own folder: give only one of them");
  TrainOptions options;
  if (!o.resume.empty()) {
    options = to_resume_options(o);
  } else {
    options.settings = to_settings(o.common);
    options.settings.optimizer = o.optimizer;
    options.steps = o.steps;
    options.schedule = {o.learning_rate, o.lowest_rate, o.warmup, o.decay_steps > 0 ? o.decay_steps : o.steps,
                        parse_decay(o.decay)};
    options.checkpoint = o.checkpoint;
    options.first_loss_scale = o.loss_scale;
    if (o.given("--loss-scale") && options.settings.dtype != DType::Fp16)
      throw request_error(
          "only --dtype fp16 has a loss scale; the others have at least the range of fp32: leave out "
          "--loss-scale");
    if (o.restart) restart(o, options);
  }
  if (options.steps < 1) throw request_error(fmt::format("--steps {}: give 1 or more", options.steps));
  if (o.checkpoint_every > 0 && options.checkpoint.empty())
    throw request_error(fmt::format(
        "--checkpoint-every {} needs a folder to save to: add --checkpoint FOLDER", o.checkpoint_every));
  if (o.validate_rows < 0)
    throw request_error(fmt::format("--validate-rows {}: give 1 or more, or 0 for all", o.validate_rows));
  options.validate_every = o.validate_every;
  options.validation_rows = o.validate_rows;
  options.checkpoint_every = o.checkpoint_every;
  return options;
}

// Returns null if --validate-every is 0: such a run needs no validation text.
std::shared_ptr<const BatchSource> wanted_validation(const TrainOptions& options, const TrainData& data,
                                                     const std::string& text) {
  if (options.validate_every == 0) return nullptr;
  if (auto batches = validation_batches(data, options.settings)) return batches;
  throw request_error(fmt::format(
      "--validate-every {}: {} tokens of {} are kept for validation, but one row of sequence {} needs {}; "
      "give more text or a shorter --seq, or leave out --validate-every",
      options.validate_every, grouped_text(data.validation ? data.validation->tokens() : 0), text,
      options.settings.seq, options.settings.seq + 1));
}

// Says which of the steps to come change nothing because their learning rate is 0. The last step of a decay
// to 0 is always one of them: that alone is not said, unless it is the only step.
void say_steps_without_effect(const TrainOptions& options, int64_t done) {
  const std::optional<int64_t> end = options.schedule.end_of_learning();
  const int64_t first = std::max(end.value_or(options.steps + 1), done + 1), last = options.steps;
  const bool only_the_usual_last = first == last && done + 1 < last;
  if (first > last || only_the_usual_last) return;
  const std::string which = first == last
                                ? fmt::format("step {} has learning rate 0 and changes", first)
                                : fmt::format("steps {} to {} have learning rate 0 and change", first, last);
  const std::string remedy =
      options.schedule.peak == 0 ? "To train, give an --lr above 0"
      : !options.resume.empty()
          ? fmt::format("To train further, begin a new run from these weights: --model {}", options.resume)
          : fmt::format(
                "To train in all steps, give --decay constant, a --min-lr above 0, or --decay-steps {}",
                options.steps + 1);
  fmt::print(stderr, "{} nothing. {}\n", which, remedy);
}

int run_train(const TrainVerbOptions& o) {
  TrainOptions options = to_train_options(o);
  require_different_files(
      {{"--log", o.log}, {"--record", o.record.path}, {"--checkpoint", options.checkpoint}});
  const bool goes_on = o.restart || !options.resume.empty();
  const auto log_place = take_place("--log", o.log, kTrainingLog, goes_on);
  const RecordOptions record = place_of_recording(o);
  const Settings& settings = options.settings;
  std::string text = o.data;
  if (text.empty() && !options.resume.empty()) text = read_training_state(options.resume).text_path;
  if (text.empty())
    throw request_error("--data is missing: give a text file, a folder made by `data`, or the word sample");
  // A checkpoint holds its tokenizer.
  const std::string tokenizer =
      options.resume.empty() || o.given("--tokenizer") ? o.tokenizer : options.resume;
  say_hidden_tokenizer(tokenizer);
  const TrainData data = open_train_data(text, tokenizer, settings.model);
  say_left_out(data.left_out);
  options.text = {text, data.train->tokens(), data.tokenizer, data.train->hash()};
  FILE* out = o.common.json ? stderr : stdout;
  Trainer trainer(options, make_batches(data.train, *data.tokenizer, settings, settings.seed),
                  wanted_validation(options, data, text));
  fmt::print(out,
             "{} · {} parameters · T = {} · D = {} · {} · batch {} × sequence {} · {} tokens of text ({})\n",
             settings.model.title, grouped_text(parameter_count(settings.model)), settings.tp, settings.dp,
             to_string(settings.dtype), settings.batch, settings.seq, grouped_text(data.train->tokens()),
             data.tokenizer->name());
  if (trainer.steps_done() >= options.steps)
    fmt::print(out, "all {} steps are already done in the checkpoint {}\n", options.steps, options.resume);
  else if (trainer.steps_done() > 0)
    fmt::print(out, "resumed after step {} from {}\n", trainer.steps_done(), options.resume);
  say_steps_without_effect(options, trainer.steps_done());
  if (record.path != o.record.path)
    fmt::print(out, "recording into {}: {} holds an earlier start\n", record.path, o.record.path);
  trainer.measure_ceiling();
  stop_on_signals();
  TrainReport report(out, options, o.log, trainer.steps_done());
  const auto recorder = make_recorder(record, "train", trainer.plan(), trainer.executor().communicator());
  // Only a recording and the report about late ranks read the events of a step.
  trainer.executor().set_traced(recorder != nullptr || !settings.delays.empty());
  if (recorder && recorder->pictures()) trainer.observe({recorder->pictures()});
  RecordedTraining watcher(report, trainer, recorder.get(), options.validate_every,
                           trace_every(trainer.plan().program.settings));
  run_recorded(recorder, [&] { trainer.run(watcher, stop_requested); });
  const int recorded = finish_recording(recorder.get(), record, out);
  const StepReport& last = report.last();
  const bool ran = last.step > 0, stopped = trainer.steps_done() < options.steps;
  const std::vector<Lateness> late = last_lateness(trainer.plan().program, trainer.executor());
  if (!late.empty()) fmt::print(out, "in step {}:\n", trainer.steps_done());
  print_late(out, trainer.plan().program, late);
  if (stopped) {
    fmt::print(out, "stopped after step {} of {}{}\n", trainer.steps_done(), options.steps,
               options.checkpoint.empty() ? "; nothing was saved, because no --checkpoint was given"
                                          : fmt::format("; continue with --resume {}", options.checkpoint));
  }
  if (o.common.json) {
    ordered_json json = {{"steps", trainer.steps_done()},
                         {"stopped", stopped},
                         {"loss", or_null(last.loss, ran)},
                         {"gradient_norm", or_null(last.gradient_norm, ran)},
                         {"loss_scale", or_null(last.loss_scale, ran)},
                         {"skipped_steps", trainer.steps_done() - trainer.updates()},
                         {"tokens_per_second", or_null(last.tokens_per_second, ran)},
                         {"flops_per_second", or_null(last.flops_per_second, ran)},
                         {"gemm_ceiling_flops", trainer.ceiling_flops()},
                         {"parameters", parameter_count(settings.model)},
                         {"ranks", settings.tp},
                         {"replicas", settings.dp},
                         {"late", late_json(trainer.plan().program, late)}};
    if (!options.checkpoint.empty()) json["checkpoint"] = options.checkpoint;
    if (last.parts) json["word_loss"] = last.parts->words, json["order_loss"] = last.parts->sentences;
    if (const auto& validation = report.last_validation()) {
      json["validation_loss"] = validation->loss;
      json["validation_rows"] = validation->rows;
      json["validation_rows_of_text"] = validation->all_rows;
      if (validation->parts) {
        json["validation_word_loss"] = validation->parts->words;
        json["validation_order_loss"] = validation->parts->sentences;
      }
    }
    fmt::print("{}\n", json_text(json));
  }
  return stopped ? kStoppedBySignal + stopped_by : recorded;
}

}  // namespace

Verb add_train(CLI::App& app) {
  auto options = std::make_shared<TrainVerbOptions>();
  add_options(app, *options);
  app.footer(R"(
Examples
  shardlens-cli train --data book.txt --steps 200                 a toy, on bytes
  shardlens-cli train --model gpt2-10m --data corpus/ --tp 2 --dp 2 --steps 1000 --warmup 50
  shardlens-cli train --data sample --dtype bf16 --checkpoint run    with fp32 master weights
  shardlens-cli train --data book.txt --checkpoint run --checkpoint-every 50 --restart
                                          begins, or continues from the last checkpoint
  shardlens-cli train --model bert-tiny --norm pre --data book.txt  masked words and sentence order
)");
  return [options] { return run_train(*options); };
}

}  // namespace shardlens::cli
