// Reads NumPy's .npy files: one dense array, little-endian and in C order, of the four types that the engine
// accepts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/dtype.h"
#include "engine/base/shape.h"
#include "engine/io/input_file.h"

namespace shardlens {

enum class NpyType { Int32, Int64, Float32, Float64 };

/// Returns NumPy's name: "int32" and so on.
std::string to_string(NpyType type);
int64_t element_bytes(NpyType type);

/// A file whose head is read and checked. Its numbers are read when they are asked for, so that a wrong shape
/// is refused before gigabytes are read.
class NpyFile {
 public:
  /// Opens a file of format version 1, 2 or 3. Throws a request Error that names the file, what was found and
  /// what is expected for anything else: other types, Fortran order, big-endian, a header or data that is too
  /// short or too long.
  explicit NpyFile(const std::string& path);

  const std::string& path() const { return file_.path(); }
  NpyType type() const { return type_; }
  const Shape& shape() const { return shape_; }  ///< empty for a single number

  /// Throw a request Error that names the file if the numbers are of the other kind.
  void require_floats() const;
  void require_integers() const;

  /// Reads the elements of a floating-point array in fp32 or fp64, rounded if needed. `out` must have room
  /// for all of them. Throws what require_floats() throws.
  void read_floats(DType dtype, void* out) const;
  /// Returns the elements of an integer array. Throws what require_integers() throws.
  std::vector<int64_t> read_integers() const;

 private:
  template <class To>
  void read(To* out) const;

  InputFile file_;
  NpyType type_ = NpyType::Float32;
  Shape shape_;
  int64_t data_begin_ = 0, count_ = 0;  // in bytes; in elements
};

}  // namespace shardlens
