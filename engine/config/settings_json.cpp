// Writes settings as JSON and reads them back.
#include "engine/config/settings_json.h"

#include "engine/base/error.h"
#include "engine/base/suggest.h"
#include "engine/config/forms.h"
#include "engine/io/json.h"
#include "engine/io/path_text.h"

namespace shardlens {
namespace {

// What a model is, besides its sizes.
void read_form(ObjectReader& reader, Model& model) {
  model.form = reader.string("form");
  find_form(model.form);  // throws
  model.objective = reader.word("objective", parse_objective);
  model.activation = reader.word("activation", parse_activation);
}

// The recordings from before there were forms are of GPT-2 and BERT.
void read_old_form(ObjectReader& reader, Model& model) {
  const std::string architecture = reader.string("architecture");
  if (architecture != "gpt" && architecture != "bert")
    throw unknown_name("architecture", architecture, {"gpt", "bert"});
  model.form = architecture == "gpt" ? "gpt2" : "bert";
  model.objective = architecture == "gpt" ? Objective::NextToken : Objective::MaskedWords;
  model.activation = reader.word("gelu", parse_activation);
}

Model read_model(const nlohmann::json& json, const std::string& where) {
  ObjectReader reader(json, where);
  Model model;
  model.name = reader.string("name");
  model.title = reader.string("title");
  const bool has_form = reader.has("form");  // newer than the first recordings
  if (has_form)
    read_form(reader, model);
  else
    read_old_form(reader, model);
  model.layers = reader.integer("layers");
  model.hidden = reader.integer("hidden");
  model.heads = reader.integer("heads");
  model.kv_heads = reader.integer("kv_heads");
  model.ffn = reader.integer("ffn");
  model.vocab = reader.integer("vocab");
  model.positions = reader.integer("positions");
  model.norm = reader.word("norm", parse_norm_placement);
  model.causal = reader.boolean("causal");
  model.norm_epsilon = reader.number("norm_epsilon");
  model.pad_token = reader.integer("pad_token");
  model.tied = reader.boolean("tied");
  reader.finish();
  return model;
}

Split read_split(const nlohmann::json& json, const std::string& where) {
  ObjectReader reader(json, where);
  Split split;
  split.name = reader.string("name");
  split.attn_qkv = reader.word("attn.qkv", parse_cut);
  split.attn_proj = reader.word("attn.proj", parse_cut);
  split.mlp_fc = reader.word("mlp.fc", parse_cut);
  split.mlp_proj = reader.word("mlp.proj", parse_cut);
  split.embedding = reader.word("embedding", parse_embedding_cut);
  split.norm = reader.word("norm", parse_norm_cut);
  split.loss = reader.word("loss", parse_loss_form);
  reader.finish();
  return split;
}

InputSource read_input(const nlohmann::json& json, const std::string& where) {
  ObjectReader reader(json, where);
  InputSource input;
  input.kind = reader.word("kind", parse_input_kind);
  input.path = path_of(reader.string("path"));
  reader.finish();
  return input;
}

// A file without this key is older than delays, so it has no delays.
std::vector<Delay> read_delays(ObjectReader& settings) {
  std::vector<Delay> delays;
  if (!settings.has("delays")) return delays;
  const nlohmann::json& list = settings.child("delays");
  const std::string where = settings.where() + ", delays";
  if (!list.is_array()) throw request_error(where + " must be a list");
  for (const nlohmann::json& value : list) {
    ObjectReader reader(value, where);
    Delay delay;
    delay.rank = reader.small_integer("rank");
    delay.step = reader.string("step");
    delay.milliseconds = reader.number("milliseconds");
    reader.finish();
    delays.push_back(std::move(delay));
  }
  return delays;
}

// A file without this key is older than GPU support, so its run was on the CPU.
void read_devices(ObjectReader& settings_reader, Settings& settings) {
  if (!settings_reader.has("devices")) return;
  ObjectReader reader(settings_reader.child("devices"), settings_reader.where() + ", devices");
  settings.backend = reader.word("backend", parse_backend);
  settings.gpus = reader.word("gpus", parse_gpus);
  settings.communicator = reader.word("communicator", parse_communicator);
  // A file without this key is older than tf32, so its products are not rounded.
  if (reader.has("tf32")) settings.tf32 = reader.boolean("tf32");
  reader.finish();
}

OptimizerSettings read_optimizer(const nlohmann::json& json, const std::string& where) {
  ObjectReader reader(json, where);
  OptimizerSettings optimizer;
  optimizer.weight_decay = reader.number("weight_decay");
  optimizer.beta1 = reader.number("beta1");
  optimizer.beta2 = reader.number("beta2");
  optimizer.epsilon = reader.number("epsilon");
  optimizer.clip = reader.number("clip");
  reader.finish();
  return optimizer;
}

}  // namespace

nlohmann::ordered_json settings_to_json(const Settings& settings) {
  const Model& model = settings.model;
  const Split& split = settings.split;
  nlohmann::ordered_json json;
  json["model"] = {{"name", model.name},
                   {"title", model.title},
                   {"form", model.form},
                   {"objective", to_string(model.objective)},
                   {"layers", model.layers},
                   {"hidden", model.hidden},
                   {"heads", model.heads},
                   {"kv_heads", model.kv_heads},
                   {"ffn", model.ffn},
                   {"vocab", model.vocab},
                   {"positions", model.positions},
                   {"norm", to_string(model.norm)},
                   {"causal", model.causal},
                   {"activation", to_string(model.activation)},
                   {"norm_epsilon", model.norm_epsilon},
                   {"pad_token", model.pad_token},
                   {"tied", model.tied}};
  json["split"] = {{"name", split.name},
                   {"attn.qkv", to_string(split.attn_qkv)},
                   {"attn.proj", to_string(split.attn_proj)},
                   {"mlp.fc", to_string(split.mlp_fc)},
                   {"mlp.proj", to_string(split.mlp_proj)},
                   {"embedding", to_string(split.embedding)},
                   {"norm", to_string(split.norm)},
                   {"loss", to_string(split.loss)}};
  json["tp"] = settings.tp;
  json["dp"] = settings.dp;
  json["heads_policy"] = to_string(settings.heads_policy);
  json["dtype"] = to_string(settings.dtype);
  json["batch"] = settings.batch;
  json["seq"] = settings.seq;
  json["seed"] = settings.seed;
  json["block"] = to_string(settings.block);
  json["layer"] = settings.layer;
  json["operands"] = to_string(settings.operands);
  json["micro_batches"] = settings.micro_batches;
  json["overlap_chunks"] = settings.overlap_chunks;
  json["recompute"] = to_string(settings.recompute);
  json["fusion"] = to_string(settings.fusion);
  json["dropout"] = settings.dropout;
  json["update"] = settings.update;
  json["cache_tokens"] = settings.cache_tokens;
  json["optimizer"] = {{"weight_decay", settings.optimizer.weight_decay},
                       {"beta1", settings.optimizer.beta1},
                       {"beta2", settings.optimizer.beta2},
                       {"epsilon", settings.optimizer.epsilon},
                       {"clip", settings.optimizer.clip}};
  json["vocab_ranks"] = settings.vocab_ranks;
  json["input"] = {{"kind", to_string(settings.input.kind)}, {"path", path_text(settings.input.path)}};
  json["weights_path"] = path_text(settings.weights_path);
  json["hardware"] = path_text(settings.hardware);
  json["threads_per_rank"] = settings.threads_per_rank;
  json["devices"] = {{"backend", to_string(settings.backend)},
                     {"gpus", gpus_text(settings.gpus)},
                     {"communicator", to_string(settings.communicator)},
                     {"tf32", settings.tf32}};
  json["delays"] = nlohmann::ordered_json::array();
  for (const Delay& delay : settings.delays)
    json["delays"].push_back(
        {{"rank", delay.rank}, {"step", delay.step}, {"milliseconds", delay.milliseconds}});
  json["timeout_seconds"] = settings.timeout_seconds;
  return json;
}

Settings settings_from_json(const nlohmann::json& json, const std::string& source) {
  ObjectReader reader(json, source);
  Settings settings;
  settings.model = read_model(reader.child("model"), source + ", model");
  settings.split = read_split(reader.child("split"), source + ", split");
  settings.tp = reader.small_integer("tp");
  settings.dp = reader.small_integer("dp");
  settings.heads_policy = reader.word("heads_policy", parse_heads_policy);
  settings.dtype = reader.word("dtype", parse_dtype);
  settings.batch = reader.integer("batch");
  settings.seq = reader.integer("seq");
  settings.seed = reader.unsigned_integer("seed");
  settings.block = reader.word("block", parse_block);
  settings.layer = reader.integer("layer");
  settings.operands = reader.word("operands", parse_operands);
  settings.micro_batches = reader.small_integer("micro_batches");
  settings.overlap_chunks = reader.small_integer("overlap_chunks");
  settings.recompute = reader.word("recompute", parse_recompute);
  // A file without this key is older than fusion, so its steps are not fused.
  settings.fusion = reader.has("fusion") ? reader.word("fusion", parse_fusion) : Fusion::Off;
  settings.dropout = reader.number("dropout");
  settings.update = reader.boolean("update");
  settings.cache_tokens = reader.integer("cache_tokens");
  settings.optimizer = read_optimizer(reader.child("optimizer"), source + ", optimizer");
  settings.vocab_ranks = reader.small_integer("vocab_ranks");
  settings.input = read_input(reader.child("input"), source + ", input");
  settings.weights_path = path_of(reader.string("weights_path"));
  settings.hardware = path_of(reader.string("hardware"));
  settings.threads_per_rank = reader.small_integer("threads_per_rank");
  read_devices(reader, settings);
  settings.delays = read_delays(reader);
  // A file without this key is older than the time-out, so it gets the default.
  if (reader.has("timeout_seconds")) settings.timeout_seconds = reader.number("timeout_seconds");
  reader.finish();
  return settings;
}

}  // namespace shardlens
