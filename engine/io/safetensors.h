// Hugging Face's safetensors files: a JSON header of names, types, shapes and offsets, then the tensors'
// bytes. The header is checked whole when a file is opened; tensors are read by region, so that a rank reads
// its slice and no more, and converted on the way.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/config/dtype.h"
#include "engine/io/input_file.h"
#include "engine/program/layout.h"

namespace shardlens {

/// A tensor as it lies in a file.
struct StoredTensor {
  std::string name;
  std::string
      dtype;  ///< the format's word: "F32", "F64", "F16", "BF16" can be read as numbers, others only listed
  Shape shape;
  int64_t offset = 0;  ///< of its first byte, from the beginning of the file
  int64_t bytes = 0;
};

class SafetensorsFile {
 public:
  /// Opens a file and checks its header: sizes, offsets without overlap or hole, types, all against the
  /// file's size. Throws a request Error that names the file, the tensor, what was found and what is
  /// expected.
  explicit SafetensorsFile(const std::string& path);

  const std::string& path() const { return file_.path(); }
  const std::vector<StoredTensor>& tensors() const { return tensors_; }  ///< in the order of their bytes
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  /// By name, or the name with or without the prefix "transformer." or "bert.", with LayerNorm.gamma and beta
  /// for LayerNorm.weight and bias; null if there is none.
  const StoredTensor* find(const std::string& name) const;

  /// find(), or a request Error: a missing tensor (with the nearest name there is), a shape that is not
  /// `expected`, or a type that is no floating-point number.
  const StoredTensor& require(const std::string& name, const Shape& expected) const;

  /// Reads region[d] of every dimension d of the tensor seen in the shape `view` (the same number of
  /// elements, for example [hidden, 3, hidden] for a fused QKV weight) into `out`, contiguous, in fp32 or
  /// fp64.
  void read(const StoredTensor& tensor, const Shape& view, const std::vector<Range>& region, DType dtype,
            void* out) const;

  /// The whole tensor.
  void read(const StoredTensor& tensor, DType dtype, void* out) const;

 private:
  InputFile file_;
  std::vector<StoredTensor> tensors_;
  std::map<std::string, size_t> index_;
  std::map<std::string, std::string> metadata_;
};

/// A tensor to be written: `data` has the elements of `shape` in `dtype`, C order. Where `data` is null,
/// `make` is called for the bytes when it is the tensor's turn, so that one at a time is in memory.
struct TensorToStore {
  std::string name;
  DType dtype = DType::Fp32;
  Shape shape;
  const void* data = nullptr;
  std::function<std::vector<std::byte>()> make = {};
};

/// Writes a file atomically; on any error nothing is left behind and an old file stays as it was. `written`
/// is shown every byte in the file's order, as a checksum needs it.
void write_safetensors(const std::string& path, const std::vector<TensorToStore>& tensors,
                       const std::map<std::string, std::string>& metadata = {},
                       const std::function<void(const void* data, size_t bytes)>& written = {});

}  // namespace shardlens
