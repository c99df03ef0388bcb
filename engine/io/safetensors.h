// Hugging Face's safetensors files: a JSON header of names, types, shapes and offsets, then the tensors'
// bytes. A large model has several files and an index that names them (engine/io/safetensors_index.h); they
// are read as one. All headers are checked when the file is opened. Tensors are read by region, so a rank
// reads only its own slice, and converted while they are read.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/dtype.h"
#include "engine/base/shape.h"
#include "engine/io/file_kind.h"
#include "engine/io/input_file.h"
#include "engine/io/output_file.h"

namespace shardlens {

/// A tensor as it is stored in a file.
struct StoredTensor {
  std::string name;
  std::string
      dtype;  ///< the format's word: "F32", "F64", "F16", "BF16" can be read as numbers, others only listed
  Shape shape;
  int64_t offset = 0;  ///< of its first byte, from the beginning of the file
  int64_t bytes = 0;
  size_t file = 0;  ///< which of the files of an index
};

class SafetensorsFile {
 public:
  /// Opens a file, or an index and all files that it names, and checks every header against its file's size:
  /// sizes, types, and offsets without overlap or hole. Throws a request Error that names the file, the
  /// tensor, what was found and what is expected; also if the index and its files disagree about a tensor.
  explicit SafetensorsFile(const std::string& path);

  const std::string& path() const { return path_; }
  std::vector<std::string> paths() const;  ///< path(), and after an index the files that it names
  const std::string& path_of(const StoredTensor& tensor) const { return files_[tensor.file]->path(); }
  const std::vector<StoredTensor>& tensors() const {
    return tensors_;
  }  ///< file by file, in the order of their bytes
  /// What the files say about themselves; of an index, what all its files say alike.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  /// Returns the tensor with this name. Also tries the name with or without the prefix "transformer." or
  /// "bert.", and LayerNorm.gamma and beta for LayerNorm.weight and bias. Null if there is none.
  const StoredTensor* find(const std::string& name) const;

  /// The same as find(), but throws a request Error if the tensor is missing (with the nearest existing
  /// name), if its shape is not `expected`, or if its type is not a floating-point type.
  const StoredTensor& require(const std::string& name, const Shape& expected) const;

  /// Reads region[d] of every dimension d of the tensor into `out`, contiguous, in fp32 or fp64. The region
  /// is in the shape `view`, which must have the same number of elements as the tensor, for example [hidden,
  /// 3, hidden] for a fused QKV weight.
  void read(const StoredTensor& tensor, const Shape& view, const std::vector<Range>& region, DType dtype,
            void* out) const;

  /// Reads the whole tensor.
  void read(const StoredTensor& tensor, DType dtype, void* out) const;

 private:
  void add(std::unique_ptr<const InputFile> file);

  std::string path_;
  std::vector<std::unique_ptr<const InputFile>> files_;
  std::vector<StoredTensor> tensors_;
  std::map<std::string, size_t> index_;
  std::map<std::string, std::string> metadata_;
};

/// A tensor to write: `data` has the elements of `shape` in `dtype`, C order. If `data` is null, `make` is
/// called for the bytes when they are written, so that only one tensor at a time is in memory.
struct TensorToStore {
  std::string name;
  DType dtype = DType::Fp32;
  Shape shape;
  const void* data = nullptr;
  std::function<std::vector<std::byte>()> make = {};
};

/// Receives every byte of a file that is written, in the file's order, for a checksum.
using WrittenBytes = std::function<void(const std::string& path, const void* data, size_t bytes)>;

/// Tensors may have taken a long run.
inline constexpr OutputKind kTensorsFile{"a safetensors file",
                                         [](std::string_view beginning, std::string_view) {
                                           return kind_of_bytes(beginning) == FileKind::Safetensors;
                                         },
                                         Existing::Kept};

/// Writes a file of kTensorsFile atomically. After an error nothing is left behind, and an old file stays as
/// it was.
void write_safetensors(const std::string& path, const std::vector<TensorToStore>& tensors,
                       const std::map<std::string, std::string>& metadata = {},
                       const WrittenBytes& written = {});

/// How many bytes of tensors are written into one file of a model, as in transformers.
inline constexpr int64_t kShardBytes = 50'000'000'000;

/// Writes one file at `path`, or if the tensors have more than `shard_bytes` together, several files of at
/// most so many bytes (or of one tensor) and an index. Each file is written atomically, the index last.
void write_sharded_safetensors(const std::string& path, const std::vector<TensorToStore>& tensors,
                               const std::map<std::string, std::string>& metadata, int64_t shard_bytes,
                               const WrittenBytes& written);

}  // namespace shardlens
