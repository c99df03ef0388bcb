// Writes and reads a corpus as token ids in one file.
#include "engine/train/data/token_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <stdexcept>

#include "engine/base/error.h"
#include "engine/io/hash_of_version_1.h"
#include "engine/record/sample.h"
#include "engine/train/tokenizer/vocabulary.h"

namespace shardlens {
namespace {

static_assert(std::endian::native == std::endian::little, "token files are little-endian");

constexpr uint32_t kTokenFileVersion = 1;
constexpr std::array<char, 8> kHeaderMagic = {'S', 'L', 'T', 'O', 'K', 'E', 'N', 'S'};
constexpr std::array<char, 8> kFooterMagic = {'S', 'L', 'T', 'O', 'K', 'E', 'N', 'D'};
constexpr size_t kBufferBytes = size_t{1} << 20;

struct Header {
  std::array<char, 8> magic = kHeaderMagic;
  uint32_t version = kTokenFileVersion;
  uint32_t token_bytes = 0;
  int32_t vocab_size = 0;
  int32_t end_of_text = -1;
  uint64_t fingerprint = 0;
  std::array<char, 32> tokenizer{};  // zero-terminated
};
static_assert(sizeof(Header) == 64);

struct Footer {
  uint64_t documents = 0;
  uint64_t tokens = 0;
  uint64_t hash = 0;
  std::array<char, 8> magic = kFooterMagic;
};
static_assert(sizeof(Footer) == 32);

// The hash of a file is the chain of the hashes of its parts: header, each document, index. A checkpoint
// holds it, and a run goes on only if its text, prepared again, gives the same one. So the function stays the
// old.
uint64_t chain(uint64_t hash, const void* part, size_t bytes) {
  const std::array<uint64_t, 2> links = {hash, hash_of_version_1(part, bytes)};
  return hash_of_version_1(links.data(), sizeof(links));
}

size_t padding(size_t bytes) {
  return (8 - bytes % 8) % 8;
}

// The ids in the file's type.
template <class Stored>
std::vector<Stored> narrow(std::span<const int32_t> ids) {
  return {ids.begin(), ids.end()};
}

}  // namespace

TokenFileWriter::TokenFileWriter(const std::string& path, const Tokenizer& tokenizer)
    : file_(path, kTokensFile),
      path_(path),
      source_{tokenizer.name(), tokenizer.fingerprint(), tokenizer.vocab_size(),
              tokenizer.end_of_text().value_or(-1)},
      token_bytes_(source_.vocab_size <= 1 << 16 ? 2 : 4),
      starts_{0} {
  Header header;
  header.token_bytes = static_cast<uint32_t>(token_bytes_);
  header.vocab_size = source_.vocab_size;
  header.end_of_text = source_.end_of_text;
  header.fingerprint = source_.fingerprint;
  if (source_.tokenizer.size() >= header.tokenizer.size())
    throw std::logic_error("a tokenizer's name has at most 31 letters");
  std::copy(source_.tokenizer.begin(), source_.tokenizer.end(), header.tokenizer.begin());
  append(&header, sizeof(header));
  hash_ = chain(hash_, &header, sizeof(header));
}

void TokenFileWriter::append(const void* data, size_t bytes) {
  buffer_.append(static_cast<const char*>(data), bytes);
  if (buffer_.size() >= kBufferBytes) flush();
}

void TokenFileWriter::flush() {
  file_.write(buffer_.data(), buffer_.size());
  buffer_.clear();
}

void TokenFileWriter::add(std::span<const int32_t> document) {
  for (const int32_t id : document) {
    if (id < 0 || id >= source_.vocab_size)
      throw std::logic_error(fmt::format("token {} is outside the vocabulary of {}", id, source_.vocab_size));
  }
  const auto store = [&](const auto& ids) {
    const size_t bytes = ids.size() * sizeof(ids[0]);
    append(ids.data(), bytes);
    hash_ = chain(hash_, ids.data(), bytes);
  };
  if (token_bytes_ == 2) {
    store(narrow<uint16_t>(document));
  } else {
    store(narrow<uint32_t>(document));
  }
  starts_.push_back(starts_.back() + document.size());
}

void TokenFileWriter::commit() {
  const uint64_t zeros = 0;
  append(&zeros, padding(static_cast<size_t>(starts_.back()) * token_bytes_));
  const size_t index_bytes = starts_.size() * sizeof(uint64_t);
  append(starts_.data(), index_bytes);
  Footer footer;
  footer.documents = static_cast<uint64_t>(documents());
  footer.tokens = starts_.back();
  footer.hash = hash_ = chain(hash_, starts_.data(), index_bytes);
  append(&footer, sizeof(footer));
  flush();
  file_.commit();
}

TokenFile::TokenFile(const std::string& path, const std::string& name)
    : file_(path), name_(name.empty() ? path : name) {
  open_and_check();
}

void TokenFile::refuse(const std::string& why) const {
  throw request_error(fmt::format("{} {}; prepare the corpus again with shardlens-cli data", name_, why));
}

void TokenFile::open_and_check() {
  const auto size = static_cast<size_t>(file_.size());
  Header header;
  if (size >= sizeof(header)) file_.read(0, &header, sizeof(header));
  if (size < sizeof(header) || header.magic != kHeaderMagic)
    refuse("is not a token file (it does not begin with SLTOKENS)");
  if (header.version != kTokenFileVersion)
    refuse(fmt::format("is a token file of version {}, this program reads version {}", header.version,
                       kTokenFileVersion));

  Footer footer;
  if (size < sizeof(header) + sizeof(footer)) refuse("is cut short: it ends after its header");
  file_.read(static_cast<int64_t>(size - sizeof(footer)), &footer, sizeof(footer));
  if (footer.magic != kFooterMagic) refuse("is cut short: it does not end with SLTOKEND");
  const bool plausible = (header.token_bytes == 2 || header.token_bytes == 4) && header.vocab_size > 0 &&
                         header.vocab_size <= kLargestTokenId + 1 && header.tokenizer.back() == 0 &&
                         footer.tokens < size && footer.documents < size;
  const size_t token_bytes = plausible ? footer.tokens * header.token_bytes : 0;
  const size_t index_at = sizeof(header) + token_bytes + padding(token_bytes);
  const size_t index_bytes = plausible ? (footer.documents + 1) * sizeof(uint64_t) : 0;
  if (!plausible || index_at + index_bytes + sizeof(footer) != size)
    refuse(fmt::format("is damaged: its {} bytes do not hold the {} tokens in {} documents of its footer",
                       size, footer.tokens, footer.documents));

  token_bytes_ = header.token_bytes;
  documents_ = static_cast<int64_t>(footer.documents);
  tokens_ = static_cast<int64_t>(footer.tokens);
  starts_.resize(footer.documents + 1);
  file_.read(static_cast<int64_t>(index_at), starts_.data(), index_bytes);
  source_ = {header.tokenizer.data(), header.fingerprint, header.vocab_size, header.end_of_text};
  if (starts_.front() != 0 || starts_.back() != footer.tokens ||
      !std::is_sorted(starts_.begin(), starts_.end()))
    refuse("is damaged: its index of documents is not in order");

  hash_ = check_documents(chain(0, &header, sizeof(header)));
  hash_ = chain(hash_, starts_.data(), index_bytes);
  if (hash_ != footer.hash) refuse("is damaged: its contents do not match its checksum");
}

// Reads the documents, many at a time, and goes on with the chain of hashes that began with the header.
// Refuses an id that the file's own vocabulary does not have.
uint64_t TokenFile::check_documents(uint64_t hash) {
  std::vector<unsigned char> block;
  const auto bytes_of = [&](size_t first, size_t end) {
    return (starts_[end] - starts_[first]) * token_bytes_;
  };
  const auto check_ids = [&](size_t document, const auto* ids) {
    const size_t count = starts_[document + 1] - starts_[document];
    uint32_t largest = 0;
    for (size_t i = 0; i < count; ++i) largest = std::max<uint32_t>(largest, ids[i]);
    if (count == 0 || largest < static_cast<uint32_t>(source_.vocab_size)) return;
    const auto place = std::find(ids, ids + count, largest) - ids;
    refuse(fmt::format("is damaged: token {} of document {} is {}, but its vocabulary has {} entries",
                       place + 1, document + 1, largest, source_.vocab_size));
  };
  const auto documents = static_cast<size_t>(documents_);
  for (size_t first = 0; first < documents;) {
    size_t end = first + 1;
    while (end < documents && bytes_of(first, end + 1) <= kBufferBytes) ++end;
    block.resize(bytes_of(first, end));
    const auto begin = static_cast<int64_t>(sizeof(Header) + starts_[first] * token_bytes_);
    file_.read(begin, block.data(), block.size());
    const unsigned char* document = block.data();
    for (; first < end; ++first) {
      const size_t bytes = bytes_of(first, first + 1);
      hash = chain(hash, document, bytes);
      token_bytes_ == 2 ? check_ids(first, reinterpret_cast<const uint16_t*>(document))
                        : check_ids(first, reinterpret_cast<const uint32_t*>(document));
      document += bytes;
    }
  }
  return hash;
}

void TokenFile::read(int64_t first, int64_t count, int32_t* out) const {
  if (first < 0 || count < 0 || first + count > tokens_)
    throw std::logic_error(
        fmt::format("tokens [{}, {}) of {}, which has {}", first, first + count, name_, tokens_));
  const auto place = static_cast<int64_t>(sizeof(Header)) + first * static_cast<int64_t>(token_bytes_);
  if (token_bytes_ == sizeof(*out))  // ids are below 2^31
    return file_.read(place, out, static_cast<size_t>(count) * token_bytes_);
  std::vector<uint16_t> stored(static_cast<size_t>(count));
  file_.read(place, stored.data(), stored.size() * token_bytes_);
  std::copy(stored.begin(), stored.end(), out);
}

std::vector<int32_t> TokenFile::document(int64_t index) const {
  const int64_t first = document_begin(index);
  std::vector<int32_t> ids(static_cast<size_t>(document_begin(index + 1) - first));
  read(first, static_cast<int64_t>(ids.size()), ids.data());
  return ids;
}

void TokenFile::require(const Tokenizer& tokenizer) const {
  if (tokenizer.name() == source_.tokenizer && tokenizer.fingerprint() == source_.fingerprint) return;
  throw request_error(
      fmt::format("{} was made with the tokenizer {} ({} entries, fingerprint {:016x}), but the given one is "
                  "{} ({} entries, fingerprint {:016x}); use the tokenizer next to the file, or prepare the "
                  "corpus again with the given one",
                  name_, source_.tokenizer, source_.vocab_size, source_.fingerprint, tokenizer.name(),
                  tokenizer.vocab_size(), tokenizer.fingerprint()));
}

void TokenFile::require_vocabulary(int64_t vocab_size) const {
  if (vocab_size >= source_.vocab_size) return;
  throw request_error(fmt::format(
      "{} has ids up to {} (tokenizer {}, {} entries), but the model's vocabulary has {} entries; choose a "
      "model with a vocabulary of at least {}, or prepare the corpus with a smaller tokenizer",
      name_, source_.vocab_size - 1, source_.tokenizer, source_.vocab_size, vocab_size, source_.vocab_size));
}

}  // namespace shardlens
