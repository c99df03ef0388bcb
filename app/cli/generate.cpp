// `generate`: continues a prompt, token by token, sharded over T ranks.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/cli/options.h"
#include "app/cli/text_options.h"
#include "app/cli/verbs.h"
#include "app/command_line/request.h"
#include "engine/base/error.h"
#include "engine/config/presets.h"
#include "engine/io/json_text.h"
#include "engine/train/checkpoint.h"
#include "engine/train/generate/writing.h"

namespace shardlens::cli {
namespace {

using nlohmann::ordered_json;

struct GenerateOptions {
  CommonOptions common;
  std::string prompt, tokenizer;
  int64_t tokens = 100;
  Sampling sampling;
  bool greedy = false;
};

int run_generate(GenerateOptions o) {
  if (o.tokens < 1) throw request_error(fmt::format("--tokens {}: give 1 or more", o.tokens));
  if (o.greedy) o.sampling.temperature = 0;
  o.sampling.seed = o.common.seed;
  validate(o.sampling);
  Settings settings = to_settings(o.common);
  const auto tokenizer = tokenizer_for(o.common.model, o.tokenizer);
  require_room_for_ids(*tokenizer, settings.model);
  TextsForModel texts(o.common.model, false);
  const std::vector<int32_t> prompt = prompt_tokens(texts.read(o.prompt), *tokenizer);
  if (texts.clean()) texts.say_changes("--prompt");
  const int64_t positions = settings.model.positions;
  settings.seq = std::min(static_cast<int64_t>(prompt.size()) + std::min(o.tokens, positions), positions);
  const std::string folder = folder_of_model(o.common.model);
  if (!folder.empty() && is_checkpoint(folder)) {
    const int64_t trained = read_training_state(folder).settings.seq;
    if (settings.seq > trained)
      fmt::print(stderr, "{} was trained on sequences of {} tokens: it has not learned later positions\n",
                 o.common.model, trained);
  }
  say_untrained(settings);
  Generator generator(settings);
  std::string begin = o.prompt;  // printed with the first token: a prompt that is refused is not printed
  const Writing writing =
      write_on(generator, *tokenizer, prompt, o.tokens, o.sampling, [&](const std::string& piece) {
        if (!o.common.json) {
          fmt::print("{}{}", std::exchange(begin, {}), piece);
          std::fflush(stdout);
        }
        return true;
      });
  if (o.common.json) {
    const ordered_json json = {{"prompt", o.prompt},
                               {"text", writing.text},
                               {"token_ids", writing.token_ids},
                               {"tokens", writing.token_ids.size()},
                               {"ended_by", to_string(writing.end)},
                               {"prompt_tokens", writing.prompt_tokens},
                               {"prompt_seconds", writing.prompt_seconds},
                               {"generation_seconds", writing.seconds},
                               {"ranks", settings.tp}};
    fmt::print("{}\n", json_text(json));
    return 0;
  }
  fmt::print("{}\n", begin);
  if (writing.end == WritingEnd::Positions)
    fmt::print(stderr, "the text ends here: {} has {} positions\n", settings.model.title,
               settings.model.positions);
  return 0;
}

}  // namespace

Verb add_generate(CLI::App& app) {
  auto o = std::make_shared<GenerateOptions>();
  add_model_options(app, o->common);
  const std::string group = "Generation";
  const auto option = [&](const char* name, auto& value, const char* help) {
    return app.add_option(name, value, help)->group(group)->capture_default_str();
  };
  option("--prompt", o->prompt, "Text to continue")->type_name(kWords);
  option("--tokens", o->tokens, "Writes at most this many tokens");
  option("--temperature", o->sampling.temperature,
         "Below 1: more likely tokens; above 1: more surprising tokens; 0: greedy");
  option("--top-k", o->sampling.top_k, "Only the k likeliest tokens; 0: all");
  option("--top-p", o->sampling.top_p, "Only the likeliest tokens that reach this probability together");
  option("--tokenizer", o->tokenizer,
         "bytes, or a tokenizer's file or folder; the model folder's own if left out");
  app.add_flag("--greedy", o->greedy, "Always the likeliest token")->group(group);
  app.footer(R"(
The prompt is computed once, then one token at a time: each rank keeps the keys and values of its own heads
in a cache (plan --cache shows the Program and its memory). The same seed writes the same text, in fp64 at any
T. A text ends at --tokens, at the tokenizer's end-of-text token, or when the model has no more positions.

Examples
  shardlens-cli generate --model run/ --prompt "In the beginning" --tp 2
  shardlens-cli generate --model run/ --prompt "And God" --temperature 0.8 --top-p 0.95 --tokens 300
)");
  return [o, &app] {
    refuse_without_effect(app, {"--batch", "--seq", "--dp", "--micro-batches", "--recompute", "--dropout"},
                          "generate writes one text of --tokens tokens, and trains nothing");
    return run_generate(*o);
  };
}

}  // namespace shardlens::cli
