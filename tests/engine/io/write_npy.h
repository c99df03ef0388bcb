// Writes arrays as NumPy does, for tests of the readers.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <string>

#include "engine/io/npy.h"

namespace shardlens {

/// Writes format version 1.0. `data` has the elements of `shape` in C order.
inline void write_npy(const std::string& path, NpyType type, const Shape& shape, const void* data) {
  const char* const name = type == NpyType::Float32   ? "<f4"
                           : type == NpyType::Float64 ? "<f8"
                           : type == NpyType::Int32   ? "<i4"
                                                      : "<i8";
  int64_t bytes = name[2] - '0';
  for (const int64_t extent : shape) bytes *= extent;
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", name,
                                   fmt::join(shape, ", "), shape.size() == 1 ? ", " : "");
  // The data begin at a multiple of 64 bytes; the header ends in a line break.
  constexpr size_t kBeforeHeader = 10;
  header.append(63 - (kBeforeHeader + header.size()) % 64, ' ');
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  file << "\x93NUMPY" << '\1' << '\0' << static_cast<char>(header.size() & 0xFF)
       << static_cast<char>(header.size() >> 8) << header;
  file.write(static_cast<const char*>(data), bytes);
}

}  // namespace shardlens
