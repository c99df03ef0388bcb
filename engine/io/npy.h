// NumPy's .npy files: one dense array, little-endian and in C order, of the four types the engine takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/config/dtype.h"
#include "engine/program/layout.h"

namespace shardlens {

enum class NpyType { Int32, Int64, Float32, Float64 };

/// "int32" and so on, NumPy's words.
std::string to_string(NpyType type);
int64_t element_bytes(NpyType type);

struct NpyArray {
  NpyType type = NpyType::Float32;
  Shape shape;  ///< empty for a single number
  std::vector<std::byte> bytes;

  bool is_integer() const { return type == NpyType::Int32 || type == NpyType::Int64; }
};

/// Reads a file of format version 1, 2 or 3. Throws a request Error that names the file, what was found and
/// what is expected for anything else: other types, Fortran order, big-endian, a header or data that is cut
/// short or too long.
NpyArray read_npy(const std::string& path);

/// The elements of a floating-point array in fp32 or fp64, rounded where needed. `out` has room for all of
/// them. Throws a request Error for an array of integers; `source` names it.
void copy_floats(const NpyArray& array, const std::string& source, DType dtype, void* out);

/// The elements of an integer array. Throws a request Error for floating-point numbers.
std::vector<int64_t> copy_integers(const NpyArray& array, const std::string& source);

}  // namespace shardlens
