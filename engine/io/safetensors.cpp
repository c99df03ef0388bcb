// Reads and writes safetensors files. Layout: 8 bytes of header length (little-endian), the JSON header, then
// the data. Offsets in the header count from the beginning of the data.
#include "engine/io/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <stdexcept>

#include "engine/config/error.h"
#include "engine/config/suggest.h"
#include "engine/io/atomic_file.h"
#include "engine/io/half.h"
#include "engine/io/json.h"

namespace shardlens {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian and read as they are");

constexpr int64_t kLengthBytes = 8;
constexpr int64_t kLongestHeader = 100'000'000;  // the format's own limit

// Returns the bytes of one element for each type name of the format.
const std::map<std::string, int64_t>& stored_types() {
  static const std::map<std::string, int64_t> types = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"I16", 2}, {"U16", 2}, {"F16", 2},
      {"BF16", 2}, {"I32", 4}, {"U32", 4}, {"F32", 4},     {"I64", 8},     {"U64", 8}, {"F64", 8}};
  return types;
}

const char* stored_type(DType dtype) {
  switch (dtype) {
    case DType::Fp32:
      return "F32";
    case DType::Fp64:
      return "F64";
    case DType::Fp16:
      return "F16";
    case DType::Bf16:
      return "BF16";
    case DType::Int32:
      return "I32";
  }
  return "?";
}

bool is_number(const std::string& type) {
  return type == "F32" || type == "F64" || type == "F16" || type == "BF16";
}

std::vector<int64_t> whole_numbers(const nlohmann::json& json, const std::string& where) {
  std::vector<int64_t> numbers;
  if (json.is_array()) {
    for (const nlohmann::json& entry : json) {
      if (!entry.is_number_unsigned() || entry.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) break;
      numbers.push_back(entry.get<int64_t>());
    }
    if (numbers.size() == json.size()) return numbers;
  }
  throw request_error(where + " must be a list of whole numbers of at least 0");
}

// Reads one header entry, and checks its offsets against its own shape and the data's length.
StoredTensor read_entry(const std::string& name, const nlohmann::json& json, const std::string& path,
                        int64_t data_begin, int64_t data_bytes) {
  const std::string where = path + ", tensor \"" + name + "\"";
  ObjectReader reader(json, where);
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

template <class From, class To, class Widen>
void convert_each(const std::byte* from, size_t count, To* to, const Widen& widen) {
  for (size_t i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, from + i * sizeof(From), sizeof(From));
    to[i] = static_cast<To>(widen(value));
  }
}

template <class To>
void convert(const std::string& type, const std::byte* from, size_t count, To* to) {
  if (type == "F32") convert_each<float>(from, count, to, [](float value) { return value; });
  if (type == "F64") convert_each<double>(from, count, to, [](double value) { return value; });
  if (type == "F16") convert_each<uint16_t>(from, count, to, half_to_float);
  if (type == "BF16") convert_each<uint16_t>(from, count, to, bfloat_to_float);
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path) : file_(path) {
  unsigned char length[kLengthBytes] = {};
  if (file_.size() < kLengthBytes + 2) {
    throw request_error(
        fmt::format("{} is not a safetensors file: it has only {} bytes", path, file_.size()));
  }
  file_.read(0, length, sizeof length);
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, length, sizeof length);
  const auto room = static_cast<uint64_t>(std::min(file_.size() - kLengthBytes, kLongestHeader));
  if (header_bytes < 2 || header_bytes > room) {
    throw request_error(
        fmt::format("{}: its header should have {} bytes and the whole file has {}: it is cut short, "
                    "damaged, or not a safetensors file",
                    path, header_bytes, file_.size()));
  }
  std::string text(static_cast<size_t>(header_bytes), '\0');
  file_.read(kLengthBytes, text.data(), text.size());
  const nlohmann::json header = parse_json(text, path + ", header");
  if (!header.is_object()) throw request_error(path + ", header: expected an object");

  const int64_t data_begin = kLengthBytes + static_cast<int64_t>(header_bytes);
  const int64_t data_bytes = file_.size() - data_begin;
  for (const auto& [name, json] : header.items()) {
    if (name != "__metadata__") {
      tensors_.push_back(read_entry(name, json, path, data_begin, data_bytes));
      continue;
    }
    ObjectReader reader(json, path + ", __metadata__");
    for (const auto& [key, value] : json.items()) metadata_[key] = reader.string(key);
  }
  std::sort(tensors_.begin(), tensors_.end(), [](const StoredTensor& a, const StoredTensor& b) {
    return std::pair(a.offset, a.bytes) < std::pair(b.offset, b.bytes);
  });
  check_coverage(tensors_, path, data_begin, data_bytes);
  for (size_t i = 0; i < tensors_.size(); ++i) index_[tensors_[i].name] = i;
}

namespace {

// Returns the older name: in checkpoints converted from TensorFlow, a LayerNorm's parameters are called gamma
// and beta.
std::string older_name(const std::string& name) {
  for (const auto& [now, then] : {std::pair<std::string, const char*>{"LayerNorm.weight", "LayerNorm.gamma"},
                                  {"LayerNorm.bias", "LayerNorm.beta"}}) {
    if (name.size() >= now.size() && name.compare(name.size() - now.size(), now.size(), now) == 0)
      return name.substr(0, name.size() - now.size()) + then;
  }
  return name;
}

}  // namespace

const StoredTensor* SafetensorsFile::find(const std::string& name) const {
  std::vector<std::string> spellings;
  for (const std::string& word : {name, older_name(name)}) {
    spellings.push_back(word);
    for (const std::string prefix : {"transformer.", "bert."}) {
      spellings.push_back(prefix + word);
      if (word.rfind(prefix, 0) == 0) spellings.push_back(word.substr(prefix.size()));
    }
  }
  for (const std::string& spelling : spellings) {
    const auto found = index_.find(spelling);
    if (found != index_.end()) return &tensors_[found->second];
  }
  return nullptr;
}

const StoredTensor& SafetensorsFile::require(const std::string& name, const Shape& expected) const {
  const StoredTensor* tensor = find(name);
  if (!tensor) {
    std::vector<std::string> names;
    for (const StoredTensor& stored : tensors_) names.push_back(stored.name);
    const std::string nearest = nearest_name(name, names);
    throw request_error(fmt::format("{} has no tensor \"{}\" among its {}{}", path(), name, tensors_.size(),
                                    nearest.empty() ? "" : "; the nearest name is \"" + nearest + "\""));
  }
  if (tensor->shape != expected) {
    throw request_error(fmt::format("{}, tensor \"{}\": its shape is {}; expected {}", path(), tensor->name,
                                    to_string(tensor->shape), to_string(expected)));
  }
  if (!is_number(tensor->dtype)) {
    throw request_error(fmt::format("{}, tensor \"{}\": its type is {}; expected F32, F64, F16 or BF16",
                                    path(), tensor->name, tensor->dtype));
  }
  return *tensor;
}

void SafetensorsFile::read(const StoredTensor& tensor, const Shape& view, const std::vector<Range>& region,
                           DType dtype, void* out) const {
  const auto stored_bytes = static_cast<size_t>(stored_types().at(tensor.dtype));
  if (!is_number(tensor.dtype) || (dtype != DType::Fp32 && dtype != DType::Fp64)) {
    throw request_error(fmt::format("{}, tensor \"{}\": {} cannot be read as {}", path(), tensor.name,
                                    tensor.dtype, to_string(dtype)));
  }
  if (element_count(view) * static_cast<int64_t>(stored_bytes) != tensor.bytes ||
      region.size() != view.size()) {
    throw request_error(fmt::format("{}, tensor \"{}\": its shape {} cannot be seen as {}", path(),
                                    tensor.name, to_string(tensor.shape), to_string(view)));
  }
  int64_t wanted = 1;
  for (size_t d = 0; d < view.size(); ++d) {
    if (region[d].begin < 0 || region[d].end > view[d] || region[d].size() < 0) {
      throw request_error(fmt::format("{}, tensor \"{}\": [{}, {}) reaches outside dimension {} of {}",
                                      path(), tensor.name, region[d].begin, region[d].end, d,
                                      to_string(view)));
    }
    wanted *= region[d].size();
  }
  if (wanted == 0) return;

  // A run is a contiguous piece of the file: the innermost dimensions that are taken whole, and the one
  // outside them.
  size_t outer_dims = view.size();
  int64_t run = 1;
  bool whole = true;
  while (outer_dims > 0 && whole) {
    --outer_dims;
    run *= region[outer_dims].size();
    whole = region[outer_dims].size() == view[outer_dims];
  }
  std::vector<int64_t> stride(view.size(), 1);
  for (size_t d = view.size(); d-- > 1;) stride[d - 1] = stride[d] * view[d];

  constexpr int64_t kChunk =
      1 << 18;  // elements converted at a time, so that memory does not grow with the tensor
  std::vector<std::byte> buffer(static_cast<size_t>(std::min(run, kChunk)) * stored_bytes);
  std::vector<int64_t> at(outer_dims);
  for (size_t d = 0; d < outer_dims; ++d) at[d] = region[d].begin;
  int64_t written = 0;
  while (written < wanted) {
    int64_t element = 0;
    for (size_t d = 0; d < view.size(); ++d)
      element += (d < outer_dims ? at[d] : region[d].begin) * stride[d];
    for (int64_t done = 0; done < run; done += kChunk) {
      const auto count = static_cast<size_t>(std::min(kChunk, run - done));
      file_.read(tensor.offset + (element + done) * static_cast<int64_t>(stored_bytes), buffer.data(),
                 count * stored_bytes);
      if (dtype == DType::Fp32) {
        convert(tensor.dtype, buffer.data(), count, static_cast<float*>(out) + written);
      } else {
        convert(tensor.dtype, buffer.data(), count, static_cast<double*>(out) + written);
      }
      written += static_cast<int64_t>(count);
    }
    for (size_t d = outer_dims; d-- > 0;) {
      if (++at[d] < region[d].end) break;
      at[d] = region[d].begin;
    }
  }
}

void SafetensorsFile::read(const StoredTensor& tensor, DType dtype, void* out) const {
  std::vector<Range> region;
  for (const int64_t extent : tensor.shape) region.push_back({0, extent});
  read(tensor, tensor.shape, region, dtype, out);
}

void write_safetensors(const std::string& path, const std::vector<TensorToStore>& tensors,
                       const std::map<std::string, std::string>& metadata,
                       const std::function<void(const void* data, size_t bytes)>& written) {
  // Wide elements come first. With a header of a multiple of eight bytes, every tensor is then aligned.
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return element_bytes(tensors[a].dtype) > element_bytes(tensors[b].dtype);
  });

  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  int64_t end = 0;
  for (const size_t i : order) {
    const TensorToStore& tensor = tensors[i];
    if (header.contains(tensor.name)) {
      throw request_error(fmt::format("cannot write {}: two tensors are called \"{}\"", path, tensor.name));
    }
    const int64_t begin = end;
    end += element_count(tensor.shape) * element_bytes(tensor.dtype);
    header[tensor.name] = {
        {"dtype", stored_type(tensor.dtype)}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  const uint64_t header_bytes = text.size();

  AtomicFile file(path);
  const auto write = [&](const void* data, size_t bytes) {
    file.write(data, bytes);
    if (written) written(data, bytes);
  };
  write(&header_bytes, sizeof header_bytes);
  write(text.data(), text.size());
  for (const size_t i : order) {
    const TensorToStore& tensor = tensors[i];
    const auto bytes = static_cast<size_t>(element_count(tensor.shape) * element_bytes(tensor.dtype));
    if (tensor.data != nullptr || !tensor.make) {
      write(tensor.data, bytes);
      continue;
    }
    const std::vector<std::byte> made = tensor.make();
    if (made.size() != bytes)
      throw std::logic_error("tensor " + tensor.name + " has another size than its shape");
    write(made.data(), bytes);
  }
  file.commit();
}

}  // namespace shardlens
