// Turns the shared options into Settings.
#include "app/cli/options.h"

#include <fmt/format.h>

#include <utility>

#include "app/command_line/messages.h"
#include "engine/base/error.h"
#include "engine/device/gpu_plugin.h"
#include "engine/runtime/choose.h"

namespace shardlens::cli {
namespace {

void add_json(CLI::App& verb, CommonOptions& o) {
  verb.add_flag("--json", o.json, "One JSON object on stdout, nothing else")->group(kRunGroup);
}

}  // namespace

void add_model_options(CLI::App& verb, CommonOptions& o) {
  add_run_options(verb, o, {Part::Run});
  add_json(verb, o);
}

void add_common(CLI::App& verb, CommonOptions& o) {
  add_run_options(verb, o, {Part::Run, Part::Layer});
  add_json(verb, o);
}

void refuse_without_effect(const CLI::App& verb, const std::vector<std::string>& options,
                           const std::string& why) {
  for (const std::string& option : options)
    if (verb.get_option(option)->count() > 0)
      throw request_error(fmt::format("{} has no effect: {}; leave it out", option, why));
}

Settings to_settings(const CommonOptions& o) {
  Settings settings = settings_of(o);
  for (const std::string& remark : fit_to_files(o, settings)) say(remark);
  // The GPU plug-in is opened only if GPUs were asked for.
  return settings.backend == BackendChoice::Auto ? settled(std::move(settings), gpu_facts()) : settings;
}

void say_untrained(const Settings& settings) {
  if (!settings.weights_path.empty()) return;
  fmt::print(stderr,
             "{} is untrained here: its weights are random, drawn from --seed. To use trained weights, give "
             "--model a folder with weights, such as train --checkpoint makes, or give --weights "
             "FILE.safetensors\n",
             settings.model.title);
}

bool is_whole_model(const CommonOptions& options) {
  return block_of(options) == Block::Model;
}

}  // namespace shardlens::cli
