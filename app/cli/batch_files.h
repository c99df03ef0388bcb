// The .npy files that `step` reads a whole model's batch from.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/cli/step_options.h"
#include "engine/base/shape.h"
#include "engine/io/npy.h"
#include "engine/runtime/batch.h"

namespace shardlens::cli {

/// The files, opened. Their heads are checked against each other and give the sizes of the run before the
/// numbers of any are read.
class BatchFiles {
 public:
  /// Throws a request Error if a file is no array of ids or has another shape than the tokens. `model` must
  /// outlive this.
  BatchFiles(const ModelStepOptions& options, const Model& model);

  int64_t batch() const { return tokens_->shape()[0]; }
  int64_t seq() const;

  /// Throws a request Error that names the file, row and column of an id that the model does not have.
  Batch read() const;

 private:
  // The kind of a file's numbers, and the values that are allowed.
  struct Ids {
    const char* what;             // "tokens"
    int64_t last;                 // allowed values are 0 to `last`
    bool may_be_ignored = false;  // kIgnoredLabel is allowed too
  };
  struct Part {
    std::unique_ptr<const NpyFile> file;
    Ids ids;
    std::vector<int32_t> Batch::*place;
  };

  static std::unique_ptr<const NpyFile> open(const std::string& path, const char* what, size_t dims);
  static int32_t as_id(const Ids& ids, const NpyFile& file, int64_t value, int64_t row, int64_t col);
  static void append(const Ids& ids, const NpyFile& file, const std::vector<int64_t>& values, Range columns,
                     std::vector<int32_t>& out);
  bool is_gpt() const { return model_.objective == Objective::NextToken; }
  int64_t last_id() const { return model_.vocab - 1; }
  void refuse_labels(const ModelStepOptions& options) const;
  void add(const std::string& path, const Ids& ids, const Shape& shape, std::vector<int32_t> Batch::*place);

  const Model& model_;
  std::unique_ptr<const NpyFile> tokens_;
  std::vector<Part> parts_;
};

}  // namespace shardlens::cli
