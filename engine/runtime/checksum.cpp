// Checksums of a checkpoint's files, made while they are written and compared before they are read.
#include "engine/runtime/checksum.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <future>

#include "engine/base/error.h"
#include "engine/device/device.h"
#include "engine/io/input_file.h"
#include "engine/io/json.h"
#include "engine/record/sample.h"

namespace shardlens {
namespace {

namespace fs = std::filesystem;

std::string text_of(const std::vector<uint64_t>& blocks) {
  return fmt::format("{:016x}", hash_bytes(blocks.data(), blocks.size() * sizeof blocks[0]));
}

// By several cores, since a run waits for it; what is read again afterwards comes out of memory.
std::string checksum_of(const InputFile& file) {
  constexpr auto kBlock = static_cast<int64_t>(Checksum::kBlockBytes);
  std::vector<uint64_t> blocks(static_cast<size_t>((file.size() + kBlock - 1) / kBlock));
  std::atomic<size_t> next{0};
  const auto work = [&] {
    std::vector<std::byte> bytes(Checksum::kBlockBytes);
    for (size_t i = next++; i < blocks.size(); i = next++) {
      const int64_t at = static_cast<int64_t>(i) * kBlock;
      const auto count = static_cast<size_t>(std::min(kBlock, file.size() - at));
      file.read(at, bytes.data(), count);
      blocks[i] = hash_bytes(bytes.data(), count);
    }
  };
  std::vector<std::future<void>> workers;
  const int threads = std::min(available_cores(), 8);
  for (int i = 1; i < threads; ++i) workers.push_back(std::async(std::launch::async, work));
  work();
  for (std::future<void>& worker : workers) worker.get();
  return text_of(blocks);
}

}  // namespace

void Checksum::add(const void* data, size_t bytes) {
  const auto* at = static_cast<const std::byte*>(data);
  while (bytes > 0) {
    const size_t take = std::min(bytes, kBlockBytes - begun_.size());
    if (take == kBlockBytes) {
      blocks_.push_back(hash_bytes(at, take));
    } else {
      begun_.insert(begun_.end(), at, at + take);
      if (begun_.size() == kBlockBytes) {
        blocks_.push_back(hash_bytes(begun_.data(), begun_.size()));
        begun_.clear();
      }
    }
    at += take;
    bytes -= take;
  }
}

std::string Checksum::text() const {
  std::vector<uint64_t> all = blocks_;
  if (!begun_.empty()) all.push_back(hash_bytes(begun_.data(), begun_.size()));
  return text_of(all);
}

std::string state_checksum(nlohmann::json state) {
  if (const auto checksums = state.find("checksums"); checksums != state.end() && checksums->is_object())
    checksums->erase(kCheckpointState);
  const std::string text = state.dump();
  Checksum checksum;
  checksum.add(text.data(), text.size());
  return checksum.text();
}

nlohmann::json read_checkpoint_state(const std::string& path) {
  const nlohmann::json state = read_json_file(path);
  ObjectReader reader(state, path);
  if (!reader.has("checksums")) return state;
  ObjectReader checksums(reader.child("checksums"), path + ", checksums");
  if (!checksums.has(kCheckpointState)) return state;
  const std::string expected = checksums.string(kCheckpointState);
  const std::string found = state_checksum(state);
  if (found == expected) return state;
  throw request_error(fmt::format(
      "{} is damaged: its checksum is {}, and when it was saved it was {}. Take the file from a copy of the "
      "checkpoint, or go on from another one; one that was changed on purpose is taken as it is without "
      "\"{}\" under \"checksums\"",
      path, found, expected, kCheckpointState));
}

void require_as_saved(const std::string& path) {
  const fs::path state = fs::path(path).parent_path() / kCheckpointState;
  if (!fs::exists(state)) return;
  const nlohmann::json json = read_checkpoint_state(state.string());
  ObjectReader reader(json, state.string());
  if (!reader.has("checksums")) return;
  ObjectReader checksums(reader.child("checksums"), state.string() + ", checksums");
  const std::string name = fs::path(path).filename();
  if (!checksums.has(name)) return;
  const std::string expected = checksums.string(name);
  const std::string found = checksum_of(InputFile(path));
  if (found == expected) return;
  throw request_error(fmt::format(
      "{} is damaged: its checksum is {}, and when it was saved it was {} ({}). Take the file from a copy of "
      "the checkpoint, or go on from another one; a file that was changed on purpose is taken as it is from "
      "a folder of its own, with config.json and the tokenizer's files and without {}",
      path, found, expected, kCheckpointState, kCheckpointState));
}

}  // namespace shardlens
