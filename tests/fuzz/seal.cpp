// Knows where a token file and a checkpoint keep their checksums.
#include "tests/fuzz/seal.h"

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "engine/io/hash_of_version_1.h"
#include "engine/runtime/checksum.h"
#include "tests/fuzz/file_harm.h"

namespace shardlens::fuzz {
namespace {

uint64_t chain(uint64_t hash, const char* part, size_t bytes) {
  const std::array<uint64_t, 2> links = {hash, hash_of_version_1(part, bytes)};
  return hash_of_version_1(links.data(), sizeof links);
}

// header[64] with the bytes of a token at 12; documents; index; footer[32] of documents, tokens, hash and
// magic
void seal_tokens(std::string& bytes) {
  constexpr size_t kHeader = 64, kFooter = 32, kHash = 16;
  if (bytes.size() < kHeader + kFooter) return;
  const size_t end = bytes.size() - kFooter;
  uint32_t width = 0;
  uint64_t documents = 0;
  std::memcpy(&width, bytes.data() + 12, sizeof width);
  std::memcpy(&documents, bytes.data() + end, sizeof documents);
  if (width == 0 || width > 4 || documents >= end / 8 || (documents + 1) * 8 > end - kHeader) return;
  const size_t index = end - (documents + 1) * 8;
  uint64_t hash = chain(0, bytes.data(), kHeader);
  for (uint64_t i = 0; i < documents; ++i) {
    std::array<uint64_t, 2> starts{};
    std::memcpy(starts.data(), bytes.data() + index + i * 8, sizeof starts);
    if (starts[0] > starts[1] || starts[1] > (index - kHeader) / width) return;
    hash = chain(hash, bytes.data() + kHeader + starts[0] * width, (starts[1] - starts[0]) * width);
  }
  hash = chain(hash, bytes.data() + index, end - index);
  std::memcpy(bytes.data() + end + kHash, &hash, sizeof hash);
}

void seal_state(std::string& state, const SoundFiles& files) {
  if (is_nested_deeply(state)) return;
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(state, nullptr, false);
  if (!json.is_object() || !json.contains("checksums") || !json["checksums"].is_object()) return;
  for (const SoundFile& file : files) {
    if (file.kind != FileKind::Safetensors) continue;
    Checksum checksum;
    checksum.add(file.bytes.data(), file.bytes.size());
    json["checksums"][file.name] = checksum.text();
  }
  json["checksums"][kCheckpointState] = state_checksum(json);
  state = json.dump(2);
}

}  // namespace

void seal(SoundFiles& files) {
  for (SoundFile& file : files) {
    if (file.name.ends_with(".tokens")) seal_tokens(file.bytes);
    if (file.name == kCheckpointState) seal_state(file.bytes, files);
  }
}

}  // namespace shardlens::fuzz
