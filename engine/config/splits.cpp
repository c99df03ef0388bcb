// Named splits and split files.
#include "engine/config/splits.h"

#include <algorithm>
#include <filesystem>

#include "engine/base/suggest.h"
#include "engine/io/file_kind.h"
#include "engine/io/json.h"

namespace shardlens {
namespace {

constexpr MatrixCut kMatrixCuts[] = {{"attn.qkv", &Split::attn_qkv, Block::Attention},
                                     {"attn.proj", &Split::attn_proj, Block::Attention},
                                     {"mlp.fc", &Split::mlp_fc, Block::Mlp},
                                     {"mlp.proj", &Split::mlp_proj, Block::Mlp}};

Split named(const char* name, Cut attn_qkv, Cut attn_proj, Cut mlp_fc, Cut mlp_proj,
            EmbeddingCut embedding = EmbeddingCut::Vocab, NormCut norm = NormCut::Replicated) {
  Split split;
  split.name = name;
  split.attn_qkv = attn_qkv;
  split.attn_proj = attn_proj;
  split.mlp_fc = mlp_fc;
  split.mlp_proj = mlp_proj;
  split.embedding = embedding;
  split.norm = norm;
  return split;
}

}  // namespace

std::span<const MatrixCut> matrix_cuts() {
  return kMatrixCuts;
}

const std::vector<Split>& named_splits() {
  static const std::vector<Split> splits = {
      Split{},
      named("megatron-sp", Cut::Column, Cut::Row, Cut::Column, Cut::Row, EmbeddingCut::Vocab,
            NormCut::Sequence),
      named("reversed", Cut::Row, Cut::Column, Cut::Row, Cut::Column),
      named("row-row", Cut::Row, Cut::Row, Cut::Row, Cut::Row),
      named("column-column", Cut::Column, Cut::Column, Cut::Column, Cut::Column),
      named("replicated", Cut::Replicated, Cut::Replicated, Cut::Replicated, Cut::Replicated,
            EmbeddingCut::Replicated)};
  return splits;
}

std::vector<std::string> split_names() {
  std::vector<std::string> names;
  for (const Split& split : named_splits()) names.push_back(split.name);
  return names;
}

Split named_split(const std::string& name) {
  for (const Split& split : named_splits()) {
    if (split.name == name) return split;
  }
  throw unknown_name("split", name, split_names());
}

Split split_from_json(const nlohmann::json& json, const std::string& source) {
  ObjectReader reader(json, source);
  Split split;
  split.name = std::filesystem::path(source).stem().string();
  const auto read = [&](const char* key, auto& value, const auto& parse) {
    if (reader.has(key)) value = reader.word(key, parse);
  };
  for (const MatrixCut& matrix : kMatrixCuts) read(matrix.name, split.*matrix.cut, parse_cut);
  read("embedding", split.embedding, parse_embedding_cut);
  read("norm", split.norm, parse_norm_cut);
  read("loss", split.loss, parse_loss_form);
  reader.finish();
  return split;
}

Split find_split(const std::string& name_or_file) {
  const std::vector<std::string> names = split_names();
  const bool is_name = std::find(names.begin(), names.end(), name_or_file) != names.end();
  std::error_code unknown;
  const bool is_file = name_or_file.find('/') != std::string::npos || ending_of(name_or_file) == ".json" ||
                       std::filesystem::is_regular_file(name_or_file, unknown);
  if (is_name || !is_file) return named_split(name_or_file);
  return split_from_json(read_json_file(name_or_file), name_or_file);
}

}  // namespace shardlens
