// Opens one safetensors file or the files of an index, and reads their tensors.
#include "engine/io/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/shown.h"
#include "engine/base/suggest.h"
#include "engine/io/half.h"
#include "engine/io/held_folder.h"
#include "engine/io/safetensors_header.h"
#include "engine/io/safetensors_index.h"

namespace shardlens {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian and read as they are");

bool is_number(const std::string& type) {
  return type == "F32" || type == "F64" || type == "F16" || type == "BF16";
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

// Throws unless a file holds exactly the tensors that the index says.
void check_against_index(const std::vector<StoredTensor>& tensors, const std::set<std::string>& expected,
                         const std::string& path, const std::string& index) {
  std::set<std::string> rest = expected;
  for (const StoredTensor& tensor : tensors) {
    if (rest.erase(tensor.name) > 0) continue;
    throw request_error(
        fmt::format("{} holds the tensor \"{}\", but {} does not say so: these files do not belong together",
                    path, shown(tensor.name), index));
  }
  if (rest.empty()) return;
  throw request_error(
      fmt::format("{} has no tensor \"{}\", which {} says is in it: these files do not belong together", path,
                  shown(*rest.begin()), index));
}

// Keeps the values that are the same in both.
void keep_common(std::map<std::string, std::string>& metadata,
                 const std::map<std::string, std::string>& other) {
  std::erase_if(metadata, [&](const auto& entry) {
    const auto found = other.find(entry.first);
    return found == other.end() || found->second != entry.second;
  });
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path) : path_(path) {
  auto first = std::make_unique<const InputFile>(path);
  if (!is_json_instead(*first)) {
    add(std::move(first));
    return;
  }
  const HeldFolder held(std::filesystem::path(path).parent_path().string());  // all are of one checkpoint
  for (const auto& [name, expected] : read_safetensors_index(path)) {
    const std::filesystem::path shard = std::filesystem::path(path).parent_path() / name;
    if (!std::filesystem::exists(shard))
      throw request_error(fmt::format("{} is missing; {} says that it holds {} of the tensors",
                                      shard.string(), path, expected.size()));
    const size_t before = tensors_.size();
    add(std::make_unique<const InputFile>(shard.string()));
    check_against_index({tensors_.begin() + static_cast<std::ptrdiff_t>(before), tensors_.end()}, expected,
                        shard.string(), path);
  }
}

void SafetensorsFile::add(std::unique_ptr<const InputFile> file) {
  SafetensorsHeader header = read_safetensors_header(*file);
  for (StoredTensor& tensor : header.tensors) {
    tensor.file = files_.size();
    index_[tensor.name] = tensors_.size();
    tensors_.push_back(std::move(tensor));
  }
  if (files_.empty()) {
    metadata_ = std::move(header.metadata);
  } else {
    keep_common(metadata_, header.metadata);
  }
  files_.push_back(std::move(file));
}

std::vector<std::string> SafetensorsFile::paths() const {
  std::vector<std::string> paths{path_};
  for (const auto& file : files_)
    if (file->path() != path_) paths.push_back(file->path());
  return paths;
}

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
    throw request_error(fmt::format("{} has no tensor \"{}\" among its {}{}", path_, name, tensors_.size(),
                                    nearest.empty() ? "" : "; the nearest name is \"" + nearest + "\""));
  }
  if (tensor->shape != expected) {
    throw request_error(fmt::format("{}, tensor \"{}\": its shape is {}; expected {}", path_of(*tensor),
                                    tensor->name, to_string(tensor->shape), to_string(expected)));
  }
  if (!is_number(tensor->dtype)) {
    throw request_error(fmt::format("{}, tensor \"{}\": its type is {}; expected F32, F64, F16 or BF16",
                                    path_of(*tensor), tensor->name, tensor->dtype));
  }
  return *tensor;
}

void SafetensorsFile::read(const StoredTensor& tensor, const Shape& view, const std::vector<Range>& region,
                           DType dtype, void* out) const {
  const auto stored_bytes = static_cast<size_t>(stored_element_bytes(tensor.dtype));
  if (!is_number(tensor.dtype) || (dtype != DType::Fp32 && dtype != DType::Fp64)) {
    throw request_error(fmt::format("{}, tensor \"{}\": {} cannot be read as {}", path_of(tensor),
                                    tensor.name, tensor.dtype, to_string(dtype)));
  }
  if (element_count(view) * static_cast<int64_t>(stored_bytes) != tensor.bytes ||
      region.size() != view.size()) {
    throw request_error(fmt::format("{}, tensor \"{}\": its shape {} cannot be seen as {}", path_of(tensor),
                                    tensor.name, to_string(tensor.shape), to_string(view)));
  }
  int64_t wanted = 1;
  for (size_t d = 0; d < view.size(); ++d) {
    if (region[d].begin < 0 || region[d].end > view[d] || region[d].size() < 0) {
      throw request_error(fmt::format("{}, tensor \"{}\": [{}, {}) reaches outside dimension {} of {}",
                                      path_of(tensor), tensor.name, region[d].begin, region[d].end, d,
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
      files_[tensor.file]->read(tensor.offset + (element + done) * static_cast<int64_t>(stored_bytes),
                                buffer.data(), count * stored_bytes);
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

}  // namespace shardlens
