// Writes safetensors files, one or several with an index.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <numeric>
#include <set>
#include <stdexcept>

#include "engine/base/error.h"
#include "engine/io/atomic_file.h"
#include "engine/io/json.h"
#include "engine/io/json_text.h"
#include "engine/io/safetensors.h"
#include "engine/io/safetensors_index.h"

namespace shardlens {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian and written as they are");

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

int64_t bytes_of(const TensorToStore& tensor) {
  return element_count(tensor.shape) * element_bytes(tensor.dtype);
}

}  // namespace

void write_safetensors(const std::string& path, const std::vector<TensorToStore>& tensors,
                       const std::map<std::string, std::string>& metadata, const WrittenBytes& written) {
  // Wide elements come first. With a header of a multiple of eight bytes, every tensor is then aligned.
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return element_bytes(tensors[a].dtype) > element_bytes(tensors[b].dtype);
  });

  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  auto& entries = header.get_ref<nlohmann::ordered_json::object_t&>();  // its [] would search all names
  std::set<std::string> names;
  int64_t end = 0;
  for (const size_t i : order) {
    const TensorToStore& tensor = tensors[i];
    if (!names.insert(tensor.name).second) {
      throw request_error(fmt::format("cannot write {}: two tensors are called \"{}\"", path, tensor.name));
    }
    const int64_t begin = end;
    end += bytes_of(tensor);
    const nlohmann::ordered_json entry = {
        {"dtype", stored_type(tensor.dtype)}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
    entries.emplace_back(tensor.name, entry);
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  const uint64_t header_bytes = text.size();

  AtomicFile file(path, kTensorsFile);
  const auto write = [&](const void* data, size_t bytes) {
    file.write(data, bytes);
    if (written) written(path, data, bytes);
  };
  write(&header_bytes, sizeof header_bytes);
  write(text.data(), text.size());
  for (const size_t i : order) {
    const TensorToStore& tensor = tensors[i];
    const auto bytes = static_cast<size_t>(bytes_of(tensor));
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

void write_sharded_safetensors(const std::string& path, const std::vector<TensorToStore>& tensors,
                               const std::map<std::string, std::string>& metadata, int64_t shard_bytes,
                               const WrittenBytes& written) {
  std::vector<std::vector<TensorToStore>> shards(1);
  int64_t in_shard = 0, elements = 0, all_bytes = 0;
  for (const TensorToStore& tensor : tensors) {
    const int64_t bytes = bytes_of(tensor);
    if (in_shard + bytes > shard_bytes && !shards.back().empty()) {
      shards.emplace_back();
      in_shard = 0;
    }
    shards.back().push_back(tensor);
    in_shard += bytes;
    all_bytes += bytes;
    elements += element_count(tensor.shape);
  }
  if (shards.size() == 1) return write_safetensors(path, tensors, metadata, written);
  nlohmann::json weight_map = nlohmann::json::object();
  for (size_t i = 0; i < shards.size(); ++i) {
    const std::string shard = shard_path(path, i + 1, shards.size());
    write_safetensors(shard, shards[i], metadata, written);
    for (const TensorToStore& tensor : shards[i])
      weight_map[tensor.name] = std::filesystem::path(shard).filename();
  }
  const nlohmann::ordered_json index = {
      {"metadata", {{"total_parameters", elements}, {"total_size", all_bytes}}}, {"weight_map", weight_map}};
  const std::string text = json_text(index, 2) + "\n";
  write_file_atomically(index_path(path), kOwnFile, text);
  if (written) written(index_path(path), text.data(), text.size());
}

}  // namespace shardlens
