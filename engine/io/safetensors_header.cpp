// Reads the header of a safetensors file and checks every entry.
#include "engine/io/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/shown.h"
#include "engine/base/suggest.h"
#include "engine/io/json.h"

namespace shardlens {
namespace {

constexpr int64_t kLengthBytes = 8;
constexpr int64_t kLongestHeader = 100'000'000;  // the format's own limit

// Returns the bytes of one element for each type name of the format.
const std::map<std::string, int64_t>& stored_types() {
  static const std::map<std::string, int64_t> types = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"I16", 2}, {"U16", 2}, {"F16", 2},
      {"BF16", 2}, {"I32", 4}, {"U32", 4}, {"F32", 4},     {"I64", 8},     {"U64", 8}, {"F64", 8}};
  return types;
}

std::vector<int64_t> whole_numbers(const nlohmann::json& list, const std::string& where) {
  constexpr size_t kMost = 64;  // more dimensions than any program's arrays have
  std::vector<int64_t> numbers;
  if (list.is_array()) {
    if (list.size() > kMost)
      throw request_error(
          fmt::format("{} has {} numbers; at most {} are possible", where, list.size(), kMost));
    for (const nlohmann::json& entry : list) {
      if (!entry.is_number_unsigned() || entry.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) break;
      numbers.push_back(entry.get<int64_t>());
    }
    if (numbers.size() == list.size()) return numbers;
  }
  throw request_error(where + " must be a list of whole numbers of at least 0");
}

// Reads one header entry, and checks its offsets against its own shape and the data's length.
StoredTensor read_entry(const std::string& name, const nlohmann::json& entry, const std::string& path,
                        int64_t data_begin, int64_t data_bytes) {
  const std::string where = path + ", tensor \"" + shown(name) + "\"";
  ObjectReader reader(entry, where);
  StoredTensor tensor;
  tensor.name = name;
  tensor.dtype = reader.string("dtype");
  tensor.shape = whole_numbers(reader.child("shape"), where + ": \"shape\"");
  const std::vector<int64_t> offsets =
      whole_numbers(reader.child("data_offsets"), where + ": \"data_offsets\"");
  reader.finish();

  const auto type = stored_types().find(tensor.dtype);
  if (type == stored_types().end()) {
    std::vector<std::string> known;
    for (const auto& [word, bytes] : stored_types()) known.push_back(word);
    throw request_error(where + ": " + unknown_name("dtype", tensor.dtype, known).what());
  }
  int64_t expected = type->second;
  const bool empty = std::find(tensor.shape.begin(), tensor.shape.end(), 0) != tensor.shape.end();
  for (const int64_t extent : tensor.shape) {
    if (!empty && __builtin_mul_overflow(expected, extent, &expected)) {
      throw request_error(
          fmt::format("{}: the shape {} has more than 2^63 bytes", where, to_string(tensor.shape)));
    }
  }
  if (empty) expected = 0;
  if (offsets.size() != 2 || offsets[0] > offsets[1]) {
    throw request_error(where + ": \"data_offsets\" must be two numbers, begin and end");
  }
  tensor.bytes = offsets[1] - offsets[0];
  if (tensor.bytes != expected) {
    throw request_error(fmt::format("{}: {} of shape {} has {} bytes but its offsets span {}", where,
                                    tensor.dtype, to_string(tensor.shape), expected, tensor.bytes));
  }
  if (offsets[1] > data_bytes) {
    throw request_error(
        fmt::format("{}: ends at byte {} of the data and the file has {}: it is cut short or damaged", where,
                    offsets[1], data_bytes));
  }
  tensor.offset = data_begin + offsets[0];
  return tensor;
}

// Checks that the tensors fill the data without overlap or hole: every byte must belong to a tensor in the
// header.
void check_coverage(const std::vector<StoredTensor>& tensors, const std::string& path, int64_t data_begin,
                    int64_t data_bytes) {
  int64_t end = data_begin;
  for (const StoredTensor& tensor : tensors) {
    if (tensor.offset != end) {
      throw request_error(fmt::format("{}, tensor \"{}\": begins at byte {} of the data, {} {}", path,
                                      tensor.name, tensor.offset - data_begin,
                                      tensor.offset < end
                                          ? "inside the tensor before it, which ends at"
                                          : "with a hole after the tensor before it, which ends at",
                                      end - data_begin));
    }
    end += tensor.bytes;
  }
  if (end != data_begin + data_bytes) {
    throw request_error(
        fmt::format("{}: {} bytes after the last tensor belong to no tensor; the file is damaged", path,
                    data_begin + data_bytes - end));
  }
}

// Returns the length that the file's first bytes state; 0 if it has too few.
uint64_t stated_length(const InputFile& file) {
  uint64_t header_bytes = 0;
  if (file.size() >= kLengthBytes + 2) file.read(0, &header_bytes, kLengthBytes);
  return header_bytes;
}

uint64_t longest_header(const InputFile& file) {
  return static_cast<uint64_t>(std::clamp<int64_t>(file.size() - kLengthBytes, 0, kLongestHeader));
}

}  // namespace

int64_t stored_element_bytes(const std::string& dtype) {
  return stored_types().at(dtype);
}

bool is_json_instead(const InputFile& file) {
  // As a length, the first letters of a JSON text are more bytes than any file has.
  const uint64_t length = stated_length(file);
  return length > longest_header(file) && (length & 0xFF) == '{';
}

SafetensorsHeader read_safetensors_header(const InputFile& file) {
  const std::string& path = file.path();
  if (file.size() < kLengthBytes + 2) {
    throw request_error(fmt::format("{} is not a safetensors file: it has only {} bytes", path, file.size()));
  }
  const uint64_t header_bytes = stated_length(file);
  if (header_bytes < 2 || header_bytes > longest_header(file)) {
    throw request_error(
        fmt::format("{}: its header should have {} bytes and the whole file has {}: it is cut short, "
                    "damaged, or not a safetensors file",
                    path, header_bytes, file.size()));
  }
  std::string text(static_cast<size_t>(header_bytes), '\0');
  file.read(kLengthBytes, text.data(), text.size());
  const nlohmann::json entries = parse_json(text, path + ", header");
  if (!entries.is_object()) throw request_error(path + ", header: expected an object");

  const int64_t data_begin = kLengthBytes + static_cast<int64_t>(header_bytes);
  const int64_t data_bytes = file.size() - data_begin;
  SafetensorsHeader header;
  for (const auto& [name, entry] : entries.items()) {
    if (name != "__metadata__") {
      header.tensors.push_back(read_entry(name, entry, path, data_begin, data_bytes));
      continue;
    }
    ObjectReader reader(entry, path + ", __metadata__");
    for (const auto& [key, value] : entry.items()) header.metadata[key] = reader.string(key);
  }
  std::sort(header.tensors.begin(), header.tensors.end(), [](const StoredTensor& a, const StoredTensor& b) {
    return std::pair(a.offset, a.bytes) < std::pair(b.offset, b.bytes);
  });
  check_coverage(header.tensors, path, data_begin, data_bytes);
  return header;
}

}  // namespace shardlens
