// Computes the checksums of a checkpoint's files while they are written, and compares them before they are
// read.
#include "engine/runtime/checksum.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <future>
#include <string_view>
#include <system_error>
#include <utility>

#include "engine/base/error.h"
#include "engine/device/device.h"
#include "engine/io/hash.h"
#include "engine/io/hash_of_version_1.h"
#include "engine/io/held_folder.h"
#include "engine/io/input_file.h"
#include "engine/io/json.h"
#include "engine/io/json_text.h"

namespace shardlens {
namespace {

namespace fs = std::filesystem;

using Hash = uint64_t (*)(const void* data, size_t bytes);

struct Algorithm {
  std::string_view prefix;  ///< the text before a checksum's digits
  Hash hash;
};
constexpr Algorithm kXxh3{"xxh3:", hash64};
constexpr Algorithm kVersion1{"", hash_of_version_1};  // only to check files that older versions saved

// Returns the algorithm that made `expected`, the checksum of the file at `path`.
const Algorithm& algorithm_of(const std::string& expected, const std::string& path) {
  if (expected.starts_with(kXxh3.prefix)) return kXxh3;
  if (expected.find(':') == std::string::npos) return kVersion1;
  throw request_error(
      fmt::format("{} cannot be checked: its checksum in {} is \"{}\", but this version reads only \"{}\" "
                  "with 16 digits, or 16 digits alone. Either {} is damaged, or a newer version saved the "
                  "checkpoint. Take the file from a copy, or use the newer version",
                  path, kCheckpointState, expected, kXxh3.prefix, kCheckpointState));
}

std::string text_of(const Algorithm& algorithm, const std::vector<uint64_t>& blocks) {
  return fmt::format("{}{:016x}", algorithm.prefix,
                     algorithm.hash(blocks.data(), blocks.size() * sizeof blocks[0]));
}

// Returns the checksum of a file. Several threads compute it, because a run waits for it. When the file is
// read again afterwards, it comes from the page cache.
std::string checksum_of(const Algorithm& algorithm, const InputFile& file) {
  constexpr auto kBlock = static_cast<int64_t>(Checksum::kBlockBytes);
  std::vector<uint64_t> blocks(static_cast<size_t>((file.size() + kBlock - 1) / kBlock));
  std::atomic<size_t> next{0};
  const auto work = [&] {
    std::vector<std::byte> bytes(Checksum::kBlockBytes);
    for (size_t i = next++; i < blocks.size(); i = next++) {
      const int64_t at = static_cast<int64_t>(i) * kBlock;
      const auto count = static_cast<size_t>(std::min(kBlock, file.size() - at));
      file.read(at, bytes.data(), count);
      blocks[i] = algorithm.hash(bytes.data(), count);
    }
  };
  std::vector<std::future<void>> workers;
  const int threads = std::min(available_cores(), 8);
  try {
    for (int i = 1; i < threads; ++i) workers.push_back(std::async(std::launch::async, work));
  } catch (const std::system_error&) {
    // No more threads can start: fewer of them compute the same.
  }
  work();
  for (std::future<void>& worker : workers) worker.get();
  return text_of(algorithm, blocks);
}

std::string state_checksum(const Algorithm& algorithm, nlohmann::json state) {
  if (const auto checksums = state.find("checksums"); checksums != state.end() && checksums->is_object())
    checksums->erase(kCheckpointState);
  const std::string text = json_text(state);
  std::vector<uint64_t> blocks;
  for (size_t at = 0; at < text.size(); at += Checksum::kBlockBytes)
    blocks.push_back(algorithm.hash(text.data() + at, std::min(Checksum::kBlockBytes, text.size() - at)));
  return text_of(algorithm, blocks);
}

}  // namespace

void Checksum::add(const void* data, size_t bytes) {
  const auto* at = static_cast<const std::byte*>(data);
  while (bytes > 0) {
    const size_t take = std::min(bytes, kBlockBytes - begun_.size());
    if (take == kBlockBytes) {
      blocks_.push_back(kXxh3.hash(at, take));
    } else {
      begun_.insert(begun_.end(), at, at + take);
      if (begun_.size() == kBlockBytes) {
        blocks_.push_back(kXxh3.hash(begun_.data(), begun_.size()));
        begun_.clear();
      }
    }
    at += take;
    bytes -= take;
  }
}

std::string Checksum::text() const {
  std::vector<uint64_t> all = blocks_;
  if (!begun_.empty()) all.push_back(kXxh3.hash(begun_.data(), begun_.size()));
  return text_of(kXxh3, all);
}

std::string state_checksum(nlohmann::json state) {
  return state_checksum(kXxh3, std::move(state));
}

nlohmann::json read_checkpoint_state(const std::string& path) {
  const nlohmann::json state = read_json_file(path);
  ObjectReader reader(state, path);
  if (!reader.has("checksums")) return state;
  ObjectReader checksums(reader.child("checksums"), path + ", checksums");
  if (!checksums.has(kCheckpointState)) return state;
  const std::string expected = checksums.string(kCheckpointState);
  const std::string found = state_checksum(algorithm_of(expected, path), state);
  if (found == expected) return state;
  throw request_error(
      fmt::format("{} is damaged: its checksum is {}, but it was {} when the file was saved. Take the file "
                  "from a copy of the checkpoint, or use another checkpoint. If you changed the file on "
                  "purpose, delete \"{}\" under \"checksums\" in it; then it is not checked",
                  path, found, expected, kCheckpointState));
}

void require_as_saved(const std::string& path) {
  const fs::path state = fs::path(path).parent_path() / kCheckpointState;
  if (!fs::exists(state)) return;
  const HeldFolder held(fs::path(path).parent_path().string());  // both files are of one checkpoint
  const nlohmann::json json = read_checkpoint_state(state.string());
  ObjectReader reader(json, state.string());
  if (!reader.has("checksums")) return;
  ObjectReader checksums(reader.child("checksums"), state.string() + ", checksums");
  const std::string name = fs::path(path).filename();
  if (!checksums.has(name)) return;
  const std::string expected = checksums.string(name);
  const std::string found = checksum_of(algorithm_of(expected, path), InputFile(path));
  if (found == expected) return;
  throw request_error(fmt::format(
      "{} is damaged: its checksum is {}, but it was {} when the file was saved ({}). Take the file from a "
      "copy of the checkpoint, or use another checkpoint. If you changed the file on purpose, put it into "
      "another folder, with config.json and the tokenizer's files but without {}; then it is not checked",
      path, found, expected, kCheckpointState, kCheckpointState));
}

}  // namespace shardlens
