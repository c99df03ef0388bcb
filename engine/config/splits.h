// The named ways to cut a layer's four weight matrices, and split files. A split says only how weights are
// cut; the planner derives which collectives that needs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "engine/config/settings.h"

namespace shardlens {

/// Returns megatron (column, row, column, row), megatron-sp (the same with the stream cut over the tokens),
/// reversed (row, column, row, column), row-row, column-column, replicated: for attn.qkv, attn.proj, mlp.fc,
/// mlp.proj.
const std::vector<Split>& named_splits();
std::vector<std::string> split_names();

/// Returns a named split. Throws a request Error that lists the names.
Split named_split(const std::string& name);

/// A matrix whose cut a split file can state.
struct MatrixCut {
  const char* name;  ///< of its product, and the key in a split file
  Cut Split::*cut;
  Block block;  ///< planned in this block, in a layer and in a whole model
  bool is_in(Block planned) const {
    return planned == block || planned == Block::Layer || planned == Block::Model;
  }
};
/// In the order in which a layer multiplies by them.
std::span<const MatrixCut> matrix_cuts();

/// Reads what a split file holds; `source` names it in errors, and its stem names the split. Throws as
/// find_split().
Split split_from_json(const nlohmann::json& json, const std::string& source);

/// Returns the split for a `--split` value: a name, or a JSON file (a text that ends in .json or has a
/// slash), for example {"attn.qkv": "row", "mlp.fc": "column"}. A key that the file leaves out is cut as in
/// megatron. An unknown key or value throws a request Error with the nearest legal one and the list.
Split find_split(const std::string& name_or_file);

}  // namespace shardlens
