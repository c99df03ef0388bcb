// Reads the documents of a corpus.
#include "engine/train/data/documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "engine/config/error.h"
#include "engine/io/json.h"

namespace shardlens {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSample = "sample";
constexpr const char* kSampleCommand = "bible -f gen1:1-rev22:21 2>/dev/null";
constexpr int64_t kLooksLikeText = 8192;  // bytes at the beginning of a file that must not hold a zero
constexpr size_t kEndAtBlankLine = 4096, kEndAtLine = 8192;  // bytes

bool is_json_lines(const fs::path& path) {
  return path.extension() == ".jsonl" || path.extension() == ".ndjson";
}

// The size of a file; 0 if it has none, for example a pipe.
int64_t file_bytes(const std::string& path) {
  std::error_code error;
  const auto bytes = fs::file_size(path, error);
  return error ? 0 : static_cast<int64_t>(bytes);
}

bool is_blank(const std::string& line) {
  return line.find_first_not_of(" \t\r") == std::string::npos;
}

std::ifstream open_text(const std::string& path) {
  if (fs::is_directory(path)) throw request_error(fmt::format("{} is a folder, not a text", path));
  std::ifstream file(path, std::ios::binary);
  if (!file) throw request_error(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  return file;
}

void read_json_lines(const std::string& path, int64_t before, const OnDocument& on_document) {
  std::ifstream file = open_text(path);
  int64_t bytes = before, number = 0;
  for (std::string line; std::getline(file, line);) {
    bytes += static_cast<int64_t>(line.size()) + 1;
    const std::string where = fmt::format("{}, line {}", path, ++number);
    if (is_blank(line)) continue;
    const nlohmann::json object = parse_json(line, where);
    const auto text = object.is_object() ? object.find("text") : object.end();
    if (!object.is_object() || text == object.end() || !text->is_string())
      throw request_error(where + ": expected one object per line, with a string \"text\"");
    on_document(text->get<std::string>(), bytes);
  }
}

void read_plain_text(const std::string& path, int64_t before, const OnDocument& on_document) {
  std::ifstream file = open_text(path);
  int64_t bytes = before, number = 0;
  std::string document;
  const auto end_document = [&] {
    if (!is_blank(document)) on_document(std::move(document), bytes);
    document.clear();
  };
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (bytes - before < kLooksLikeText && line.find('\0') < static_cast<size_t>(kLooksLikeText))
      throw request_error(fmt::format(
          "{}, line {} holds a byte of 0, so it is not a text in UTF-8. Give a text file; to convert a text "
          "from UTF-16, use `iconv -f UTF-16 -t UTF-8`",
          path, number));
    bytes += static_cast<int64_t>(line.size()) + 1;
    if (line == "<|endoftext|>") {
      end_document();
      continue;
    }
    const bool blank = is_blank(line);
    if (!document.empty() || !blank) document += line + "\n";
    if (document.size() >= kEndAtLine || (blank && document.size() >= kEndAtBlankLine)) end_document();
  }
  end_document();
}

// `bible` prints one verse per line: "Ge1:1 In the beginning ...". The part before the colon names the
// chapter.
void read_sample(const OnDocument& on_document) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(kSampleCommand, "r"), pclose);
  int64_t bytes = 0;
  std::string chapter, document, line;
  const auto end_line = [&] {
    const size_t colon = line.find(':'), space = line.find(' ');
    if (colon == std::string::npos || space == std::string::npos || colon > space) return;
    if (line.compare(0, colon, chapter) != 0) {
      if (!document.empty()) on_document(std::move(document), bytes);
      document.clear();
      chapter = line.substr(0, colon);
    }
    document += line.substr(space + 1) + "\n";
  };
  std::array<char, 1 << 16> buffer;
  while (pipe) {
    const size_t got = fread(buffer.data(), 1, buffer.size(), pipe.get());
    if (got == 0) break;
    for (size_t i = 0; i < got; ++i) {
      ++bytes;
      if (buffer[i] != '\n') {
        line += buffer[i];
        continue;
      }
      end_line();
      line.clear();
    }
  }
  if (!document.empty()) on_document(std::move(document), bytes);
  if (bytes == 0)
    throw request_error(
        "the sample corpus needs the program bible, which is not installed; run ./app/setup.sh, install "
        "Debian's package bible-kjv, or give a text of your own");
}

}  // namespace

std::vector<std::string> source_files(const std::string& source) {
  if (source == kSample) return {source};
  if (!fs::exists(source))
    throw request_error(
        fmt::format("there is no text at {}; give a file, a folder, or the word {}", source, kSample));
  if (!fs::is_directory(source)) return {source};
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(source)) {
    if (entry.is_regular_file() && (entry.path().extension() == ".txt" || is_json_lines(entry.path())))
      files.push_back(entry.path().string());
  }
  if (files.empty())
    throw request_error(fmt::format("the folder {} has no .txt, .jsonl or .ndjson file", source));
  std::sort(files.begin(), files.end());
  return files;
}

int64_t source_bytes(const std::string& source) {
  if (source == kSample) return 0;
  int64_t bytes = 0;
  for (const std::string& file : source_files(source)) bytes += file_bytes(file);
  return bytes;
}

void require_many_reads(const std::string& source) {
  for (const std::string& file : source_files(source))
    if (source != kSample && !fs::is_regular_file(file))
      throw request_error(
          fmt::format("{} is a pipe or a device and can be read only once, but this command reads the text "
                      "more than once; save it in a file first",
                      file));
}

void read_documents(const std::string& source, const OnDocument& on_document) {
  if (source == kSample) return read_sample(on_document);
  int64_t before = 0;
  for (const std::string& file : source_files(source)) {
    if (is_json_lines(file)) {
      read_json_lines(file, before, on_document);
    } else {
      read_plain_text(file, before, on_document);
    }
    before += file_bytes(file);
  }
}

}  // namespace shardlens
