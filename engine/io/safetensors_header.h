// The header of one safetensors file: 8 bytes of length (little-endian), then JSON. The data follows it.
// Offsets in the header count from the beginning of the data.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/io/safetensors.h"

namespace shardlens {

struct SafetensorsHeader {
  std::vector<StoredTensor> tensors;  ///< in the order of their bytes
  std::map<std::string, std::string> metadata;
};

/// Reads and checks a file's header against its size: sizes, types, and offsets without overlap or hole.
/// Throws a request Error that names the file, the tensor, what was found and what is expected.
SafetensorsHeader read_safetensors_header(const InputFile& file);

/// True if the file is JSON text instead, such as an index of several files.
bool is_json_instead(const InputFile& file);

/// The bytes of one element of a type that the format knows.
int64_t stored_element_bytes(const std::string& dtype);

}  // namespace shardlens
