// The forms of models that are known, one row each: what a class of transformers leaves out of its
// config.json, and how its checkpoints name and store the parameters. What a model is stands in Model, field
// by field; a row only says where its fields and weights come from. A new form is a row here, and a reader of
// its config.json (read_model_config.cpp).
#pragma once

#include <span>
#include <string>

#include "engine/config/settings.h"

namespace shardlens {

/// The stored names of a layer's modules, without ".weight" and ".bias". Where a module of ours is stored in
/// several tensors, its own name is never stored: `parts` are.
struct StoredModules {
  const char *norm1, *qkv, *query, *key_value, *attention_out, *norm2, *mlp_in, *mlp_out;
  /// Of qkv and key_value: queries, keys and values; null: they are packed in one matrix, q | k | v.
  const char *query_part = nullptr, *key_part = nullptr, *value_part = nullptr;
};

struct ModelForm {
  const char* name;        ///< config.json's model_type: "gpt2"
  const char* class_name;  ///< config.json's architectures: "GPT2LMHeadModel"
  Model defaults;          ///< what the class is if its config.json says nothing; the sizes do not count
  /// The same model with the norms before the blocks is stored as this form; null: as this one.
  const char* pre_norm_form;
  const char* layers;  ///< "transformer.h"
  StoredModules modules;
  const char *token_table, *position_table, *last_norm, *head;  ///< last_norm null: it has none
  bool transposed;                                              ///< matrices are stored [out, in]
};

std::span<const ModelForm> model_forms();
/// Throws a request Error that lists the forms.
const ModelForm& find_form(const std::string& name);
/// How `model` is stored. Throws what find_form() throws.
const ModelForm& form_of(const Model& model);

}  // namespace shardlens
