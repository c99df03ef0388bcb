// A corpus as token ids in one file. It is written document by document, appears completely or not at all,
// and is read piece by piece: only the index of documents stays in memory.
//
//   header   64 bytes: magic "SLTOKENS", version, bytes per token (2 or 4), vocabulary size, end-of-text
//            id or -1, the tokenizer's fingerprint and name
//   tokens   uint16 if the vocabulary has at most 65,536 entries, else uint32; zeros up to a multiple of 8
//   index    uint64 x (documents + 1): where each document begins, in tokens, and where the last ends
//   footer   32 bytes: documents, tokens, a hash of everything before, magic "SLTOKEND"
//
// All numbers are little-endian. The parts at the end are those that are known last. So a corpus larger than
// memory can be written as a stream, and a file that was cut short has no footer.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/io/atomic_file.h"
#include "engine/io/file_kind.h"
#include "engine/io/input_file.h"
#include "engine/train/tokenizer/tokenizer.h"

namespace shardlens {

/// The tokenizer that a token file was made with, as its header describes it.
struct TokenSource {
  std::string tokenizer;
  uint64_t fingerprint = 0;
  int32_t vocab_size = 0;
  int32_t end_of_text = -1;  ///< -1: none
};

inline constexpr OutputKind kTokensFile{"a token file", [](std::string_view beginning, std::string_view) {
                                          return kind_of_bytes(beginning) == FileKind::Tokens;
                                        }};

class TokenFileWriter {
 public:
  /// Throws a request Error if the file cannot be created.
  TokenFileWriter(const std::string& path, const Tokenizer& tokenizer);

  /// Appends a document with exactly these ids. Throws a run Error that names the file if the disk is full.
  void add(std::span<const int32_t> document);

  /// Writes index and footer, and moves the file to its place.
  void commit();

  int64_t documents() const { return static_cast<int64_t>(starts_.size()) - 1; }
  int64_t tokens() const { return static_cast<int64_t>(starts_.back()); }
  /// The hash of all contents, as TokenFile::hash(); after commit().
  uint64_t hash() const { return hash_; }

 private:
  void append(const void* data, size_t bytes);
  void flush();

  AtomicFile file_;
  std::string path_;
  TokenSource source_;
  size_t token_bytes_;
  std::vector<uint64_t> starts_;
  uint64_t hash_ = 0;
  std::string buffer_;
};

class TokenFile {
 public:
  /// Opens a file and checks it by reading it once. Throws a request Error that names the file and the
  /// problem: not a token file, another version, cut short, damaged, an id outside the vocabulary. `name` is
  /// its name in errors; empty: its path.
  explicit TokenFile(const std::string& path, const std::string& name = {});

  const std::string& name() const { return name_; }
  const TokenSource& source() const { return source_; }
  int64_t documents() const { return documents_; }
  int64_t tokens() const { return tokens_; }
  /// The hash of all contents. It was checked when the file was opened.
  uint64_t hash() const { return hash_; }

  /// The first token of document `index`; index == documents() gives the end of the last document.
  int64_t document_begin(int64_t index) const {
    return static_cast<int64_t>(starts_[static_cast<size_t>(index)]);
  }

  /// out[i] = token first + i, for 0 <= i < count. Throws a run Error if the file cannot be read any more.
  void read(int64_t first, int64_t count, int32_t* out) const;
  std::vector<int32_t> document(int64_t index) const;

  /// Throws a request Error that names both tokenizers unless the file was made with this one.
  void require(const Tokenizer& tokenizer) const;
  /// Throws a request Error unless a model with `vocab_size` entries has an entry for every id of this file.
  void require_vocabulary(int64_t vocab_size) const;

 private:
  void open_and_check();
  uint64_t check_documents(uint64_t hash);
  [[noreturn]] void refuse(const std::string& why) const;

  InputFile file_;
  std::string name_;
  TokenSource source_;
  size_t token_bytes_ = 0;
  int64_t documents_ = 0, tokens_ = 0;
  uint64_t hash_ = 0;
  std::vector<uint64_t> starts_;
};

}  // namespace shardlens
