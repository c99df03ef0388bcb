// Reads a batch from .npy files.
#include "app/cli/batch_files.h"

#include <fmt/format.h>

#include <utility>

#include "engine/base/counted.h"
#include "engine/base/error.h"

namespace shardlens::cli {
namespace {

int64_t columns_of(const NpyFile& file) {
  return file.shape().size() < 2 ? 1 : file.shape()[1];
}

}  // namespace

BatchFiles::BatchFiles(const ModelStepOptions& o, const Model& model) : model_(model) {
  if (is_gpt()) refuse_labels(o);
  tokens_ = open(o.tokens, "tokens", 2);
  const Shape& shape = tokens_->shape();
  if (is_gpt() && shape[1] < 2)
    throw request_error(o.tokens + ": tokens are [B, S+1] and need at least two columns");
  add(o.labels, {"labels", last_id(), true}, shape, &Batch::labels);
  add(o.token_types, {"token types", 1}, shape, &Batch::token_types);
  add(o.attention_mask, {"attention masks", 1}, shape, &Batch::attention_mask);
  add(o.sop, {"sentence labels", 1, true}, {shape[0]}, &Batch::sentence_labels);
}

int64_t BatchFiles::seq() const {
  return tokens_->shape()[1] - (is_gpt() ? 1 : 0);
}

Batch BatchFiles::read() const {
  Batch batch;
  const std::vector<int64_t> tokens = tokens_->read_integers();
  append({"tokens", last_id()}, *tokens_, tokens, {0, seq()}, batch.tokens);
  if (is_gpt()) {
    // [B, S+1]: the inputs are all columns but the last, the labels all columns but the first.
    append({"labels", last_id(), true}, *tokens_, tokens, {1, seq() + 1}, batch.labels);
    return batch;
  }
  // BERT: [B, S] each. Without labels only --sop counts in the loss.
  batch.labels.assign(batch.tokens.size(), kIgnoredLabel);
  for (const Part& part : parts_) {
    std::vector<int32_t>& out = batch.*part.place;
    out.clear();
    append(part.ids, *part.file, part.file->read_integers(), {0, columns_of(*part.file)}, out);
  }
  return batch;
}

std::unique_ptr<const NpyFile> BatchFiles::open(const std::string& path, const char* what, size_t dims) {
  auto file = std::make_unique<const NpyFile>(path);
  if (file->shape().size() != dims || element_count(file->shape()) == 0) {
    throw request_error(fmt::format("{}: {} have shape {}, but must be a non-empty array of {}", path, what,
                                    to_string(file->shape()),
                                    counted(static_cast<int64_t>(dims), "dimension")));
  }
  file->require_integers();
  return file;
}

int32_t BatchFiles::as_id(const Ids& ids, const NpyFile& file, int64_t value, int64_t row, int64_t col) {
  const bool is_ignored = ids.may_be_ignored && value == kIgnoredLabel;
  if ((value >= 0 && value <= ids.last) || is_ignored) return static_cast<int32_t>(value);
  throw request_error(
      fmt::format("{}: {} in row {}, column {}: {} must be 0 to {}{}", file.path(), value, row, col, ids.what,
                  ids.last, ids.may_be_ignored ? fmt::format(", or {} to ignore one", kIgnoredLabel) : ""));
}

void BatchFiles::append(const Ids& ids, const NpyFile& file, const std::vector<int64_t>& values,
                        Range columns, std::vector<int32_t>& out) {
  const int64_t all = columns_of(file), rows = static_cast<int64_t>(values.size()) / all;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t col = columns.begin; col < columns.end; ++col)
      out.push_back(as_id(ids, file, values[static_cast<size_t>(row * all + col)], row, col));
}

void BatchFiles::refuse_labels(const ModelStepOptions& o) const {
  for (const std::string* file : {&o.labels, &o.token_types, &o.attention_mask, &o.sop}) {
    if (!file->empty())
      throw request_error(
          fmt::format("{}: labels, token types, masks and sentence labels belong to an encoder "
                      "such as bert-base; {} takes its labels from --tokens",
                      *file, model_.title));
  }
}

void BatchFiles::add(const std::string& path, const Ids& ids, const Shape& shape,
                     std::vector<int32_t> Batch::*place) {
  if (path.empty()) return;
  auto file = open(path, ids.what, shape.size());
  if (file->shape() != shape) {
    throw request_error(fmt::format("{}: {} have shape {}, but these tokens need {}", path, ids.what,
                                    to_string(file->shape()), to_string(shape)));
  }
  parts_.push_back({std::move(file), ids, place});
}

}  // namespace shardlens::cli
