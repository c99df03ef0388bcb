// shardlens-cli: the engine without a window. Parses the command line, runs one verb, and turns errors into
// messages and exit codes: 0 done, 1 the check failed, 2 the request was wrong, 3 the run failed.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/verbs.h"
#include "app/cli/world.h"
#include "app/command_line/help.h"
#include "app/command_line/licences.h"
#include "app/command_line/messages.h"
#include "app/command_line/out_of_memory.h"
#include "app/command_line/request.h"
#include "app/command_line/signals.h"
#include "app/command_line/standard_streams.h"
#include "engine/base/error.h"
#include "engine/base/suggest.h"
#include "engine/device/cpu/allocation.h"
#include "engine/device/gpu_environment.h"
#include "engine/runtime/rank_team.h"

namespace {

constexpr const char* kExamples = R"(
Examples
  shardlens-cli plan --model gpt2 --tp 4              the Program, its collectives, memory and time
  shardlens-cli plan --model megatron-8.3b --tp 8 --dtype fp16 --hardware v100-32gb
  shardlens-cli verify --model gpt2 --layer --tp 4 --split reversed --dtype fp64
  shardlens-cli step --model gpt2 --layer --tp 2 --dump layer.safetensors
  shardlens-cli bench step --tp 2                     FLOP/s against this machine's GEMM ceiling
  shardlens-cli data --text sample --out corpus       prepares a corpus for training

Exit codes: 0 done, 1 the check failed, 2 the request was wrong, 3 the run failed. After a signal: 130
(Ctrl+C), 143 (SIGTERM) or 129 (SIGHUP); train first ends its step and saves.
)";

// Returns the exit code after flushing stdout. If output could not be written, because a disk is full or its
// reader has gone, the run has failed, although it went on to its end.
int printed(int code) {
  namespace cli = shardlens::cli;
  std::fflush(stdout);
  return code != cli::kWrongRequest && cli::standard_output_failed() ? cli::kFailedRun : code;
}

// Ends without destructors if a thread hangs, because it may still use the objects.
int end(int code) {
  if (shardlens::abandoned_threads() == 0) return code;
  std::fflush(nullptr);
  std::_Exit(code);
}

// Throws a request Error if the first word is not a verb. The message names the nearest verb, and all of
// them.
void check_verb(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  const std::string word = argv[1];
  std::vector<std::string> verbs;
  for (const CLI::App* verb : app.get_subcommands({})) verbs.push_back(verb->get_name());
  if (std::find(verbs.begin(), verbs.end(), word) != verbs.end()) return;
  throw shardlens::unknown_name("verb", word, verbs);
}

int run(int argc, char** argv) {
  using namespace shardlens;
  CLI::App app{
      "Shardlens: tensor parallelism that really runs. Plans, runs, checks and times a transformer layer "
      "that is cut over T ranks.",
      "shardlens-cli"};
  app.footer(kExamples);
  cli::add_version(app);
  cli::add_licences(app);
  cli::lay_out_help(app);
  app.require_subcommand(1);
  try {
    const std::vector<std::pair<CLI::App*, cli::Verb>> verbs = [&] {
      std::vector<std::pair<CLI::App*, cli::Verb>> all;
      CLI::App* plan =
          app.add_subcommand("plan", "Prints a Program: its steps, collectives, memory and time");
      all.emplace_back(plan, cli::add_plan(*plan));
      CLI::App* step = app.add_subcommand("step", "Runs a forward and backward pass, and can dump tensors");
      all.emplace_back(step, cli::add_step(*step));
      CLI::App* verify = app.add_subcommand("verify", "Compares every tensor of the sharded run with T = 1");
      all.emplace_back(verify, cli::add_verify(*verify));
      CLI::App* train = app.add_subcommand("train", "Trains a model on a text, over T x D ranks");
      all.emplace_back(train, cli::add_train(*train));
      CLI::App* eval = app.add_subcommand("eval", "Measures perplexity, and cloze accuracy on last words");
      all.emplace_back(eval, cli::add_eval(*eval));
      CLI::App* generate = app.add_subcommand("generate", "Continues a prompt, token by token");
      all.emplace_back(generate, cli::add_generate(*generate));
      CLI::App* bench =
          app.add_subcommand("bench", "Measures this machine and what runs on it, as ratios to a ceiling");
      all.emplace_back(bench, cli::add_bench(*bench));
      CLI::App* data =
          app.add_subcommand("data", "Cleans and splits a corpus into token files; shows tokens");
      all.emplace_back(data, cli::add_data(*data));
      CLI::App* info =
          app.add_subcommand("info", "Prints what a recording holds, or (--backends) what computes here");
      all.emplace_back(info, cli::add_info(*info));
      CLI::App* exported = app.add_subcommand("export", "Writes a recording as a trace or a table");
      all.emplace_back(exported, cli::add_export(*exported));
      CLI::App* diff = app.add_subcommand("diff", "Compares two recordings: where do they first differ?");
      all.emplace_back(diff, cli::add_diff(*diff));
      CLI::App* lesson = app.add_subcommand("lesson", "Lists lessons, prints their questions, marks answers");
      all.emplace_back(lesson, cli::add_lesson(*lesson));
      CLI::App* page = app.add_subcommand("page", "Makes one HTML file that opens a recording or a lesson");
      all.emplace_back(page, cli::add_page(*page));
      for (CLI::App* ranks : {step, verify, train, eval, generate, bench}) cli::add_comm_options(*ranks);
      for (const auto& [parsed, verb] : all) cli::read_values_strictly(*parsed);
      return all;
    }();
    check_verb(app, argc, argv);
    cli::parse_words(app, argc, argv);
    for (const auto& [parsed, verb] : verbs) {
      if (parsed->parsed()) return cli::run_in_world(*parsed, verb);
    }
    return 0;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success))
      return cli::print_help(app, error);
    cli::say(cli::sentence_of(error, app, argv[argc - 1]));
    return cli::kWrongRequest;
  } catch (const std::exception& error) {
    cli::say(error);
    return cli::exit_code_of(error);
  }
}

}  // namespace

int main(int argc, char** argv) {
  shardlens::prepare_gpu_environment();
  shardlens::cli::set_program_name("shardlens-cli");
  shardlens::cli::prepare_standard_streams();
  shardlens::cli::end_cleanly_at_signals();
  shardlens::cli::explain_lack_of_memory();
  shardlens::cpu::keep_freed_memory();
  const int code = printed(run(argc, argv));
  // End by the signal itself, so that a shell also ends a loop around the program.
  if (code > shardlens::cli::kStoppedBySignal)
    shardlens::cli::end_by_signal(code - shardlens::cli::kStoppedBySignal);
  return end(code);
}
