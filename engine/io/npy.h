// Reads NumPy's .npy files: one dense array, little-endian and in C order, of the four types that the engine
// accepts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/config/dtype.h"
#include "engine/program/layout.h"

namespace shardlens {

enum class NpyType { Int32, Int64, Float32, Float64 };

/// Returns NumPy's name: "int32" and so on.
std::string to_string(NpyType type);
int64_t element_bytes(NpyType type);

struct NpyArray {
  NpyType type = NpyType::Float32;
  Shape shape;  ///< empty for a single number
  std::vector<std::byte> bytes;

  bool is_integer() const { return type == NpyType::Int32 || type == NpyType::Int64; }
};

/// Reads a file of format version 1, 2 or 3. Throws a request Error that names the file, what was found and
/// what is expected for anything else: other types, Fortran order, big-endian, a header or data that is too
/// short or too long.
NpyArray read_npy(const std::string& path);

/// Copies the elements of a floating-point array in fp32 or fp64, rounded if needed. `out` must have room for
/// all of them. Throws a request Error for an array of integers; `source` names the array.
void copy_floats(const NpyArray& array, const std::string& source, DType dtype, void* out);

/// Returns the elements of an integer array. Throws a request Error for floating-point numbers.
std::vector<int64_t> copy_integers(const NpyArray& array, const std::string& source);

}  // namespace shardlens
