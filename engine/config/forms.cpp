// The rows.
#include "engine/config/forms.h"

#include <vector>

#include "engine/base/suggest.h"

namespace shardlens {
namespace {

Model gpt2() {
  return {};  // Model's own
}

Model bert(NormPlacement norm) {
  Model model;
  model.form = "bert";
  model.objective = Objective::MaskedWords;
  model.norm = norm;
  model.causal = false;
  model.activation = Activation::GeluErf;
  model.norm_epsilon = 1e-12;
  return model;
}

const std::vector<ModelForm>& rows() {
  static const std::vector<ModelForm> all = {
      {.name = "gpt2",
       .class_name = "GPT2LMHeadModel",
       .defaults = gpt2(),
       .pre_norm_form = nullptr,
       .layers = "transformer.h",
       .modules = {"ln_1", "attn.c_attn", "attn.c_attn.q", "attn.c_attn.kv", "attn.c_proj", "ln_2",
                   "mlp.c_fc", "mlp.c_proj"},
       .token_table = "transformer.wte.weight",
       .position_table = "transformer.wpe.weight",
       .last_norm = "transformer.ln_f",
       .head = "lm_head.weight",
       .transposed = false},
      {.name = "bert",
       .class_name = "BertForPreTraining",
       .defaults = bert(NormPlacement::Post),
       .pre_norm_form = "megatron-bert",
       .layers = "bert.encoder.layer",
       .modules = {"attention.output.LayerNorm", "attention.self.qkv", "attention.self.query",
                   "attention.self.kv", "attention.output.dense", "output.LayerNorm", "intermediate.dense",
                   "output.dense", "attention.self.query", "attention.self.key", "attention.self.value"},
       .token_table = "bert.embeddings.word_embeddings.weight",
       .position_table = "bert.embeddings.position_embeddings.weight",
       .last_norm = nullptr,
       .head = "cls.predictions.decoder.weight",
       .transposed = true},
      // BERT with LayerNorm first (paper, Figure 7b).
      {.name = "megatron-bert",
       .class_name = "MegatronBertForPreTraining",
       .defaults = bert(NormPlacement::Pre),
       .pre_norm_form = nullptr,
       .layers = "bert.encoder.layer",
       .modules = {"attention.ln", "attention.self.qkv", "attention.self.query", "attention.self.kv",
                   "attention.output.dense", "ln", "intermediate.dense", "output.dense",
                   "attention.self.query", "attention.self.key", "attention.self.value"},
       .token_table = "bert.embeddings.word_embeddings.weight",
       .position_table = "bert.embeddings.position_embeddings.weight",
       .last_norm = "bert.encoder.ln",
       .head = "cls.predictions.decoder.weight",
       .transposed = true},
  };
  return all;
}

}  // namespace

std::span<const ModelForm> model_forms() {
  return rows();
}

const ModelForm& find_form(const std::string& name) {
  for (const ModelForm& form : rows())
    if (form.name == name) return form;
  std::vector<std::string> names;
  for (const ModelForm& form : rows()) names.emplace_back(form.name);
  throw unknown_name("form of a model", name, names);
}

const ModelForm& form_of(const Model& model) {
  const ModelForm& form = find_form(model.form);
  const bool is_other = model.norm == NormPlacement::Pre && form.pre_norm_form != nullptr;
  return is_other ? find_form(form.pre_norm_form) : form;
}

}  // namespace shardlens
