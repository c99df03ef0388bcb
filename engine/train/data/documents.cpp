// Reads the documents of a corpus.
#include "engine/train/data/documents.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <new>
#include <string_view>
#include <utility>

#include "engine/base/counted.h"
#include "engine/base/error.h"
#include "engine/io/child_program.h"
#include "engine/io/file_kind.h"
#include "engine/io/file_problem.h"
#include "engine/io/hidden_path.h"
#include "engine/io/text_lines.h"
#include "engine/train/data/json_lines.h"

namespace shardlens {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSample = "sample";
const std::vector<std::string> kSampleCommand{"bible", "-f", "gen1:1-rev22:21"};
constexpr size_t kEndAtBlankLine = 4096, kEndAtLine = 8192;  // bytes

bool is_blank(const std::string& line) {
  return line.find_first_not_of(" \t\r") == std::string::npos;
}

bool holds_json_lines(const std::string& path) {
  try {
    TextLines lines(path);
    std::string line;
    while (lines.next(line) && is_blank(line)) {
    }
    if (!begins_as_json(line)) return false;
    JsonLines(path).document(line, lines.number());  // throws if it is no such line
    return true;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Run) throw;
    return false;
  }
}

// The files in and below a folder: the texts, by their names or, if it is a .json file, by its first line.
struct Folder {
  std::vector<std::string> texts, others;
};

Folder files_of(const std::string& folder) {
  Folder found;
  std::error_code failed;
  fs::recursive_directory_iterator entries(folder, failed);
  for (; !failed && entries != fs::recursive_directory_iterator(); entries.increment(failed)) {
    std::error_code unknown;
    if (fs::is_directory(entries->path(), unknown)) continue;
    const std::string path = entries->path().string(), ending = ending_of(path);
    const bool is_text =
        entries->is_regular_file(unknown) &&
        (ending == ".txt" || has_name_of_json_lines(path) || (ending == ".json" && holds_json_lines(path)));
    (is_text ? found.texts : found.others).push_back(path);
  }
  if (failed) throw run_error(fmt::format("cannot read the folder {}: {}", folder, failed.message()));
  std::sort(found.texts.begin(), found.texts.end());
  std::sort(found.others.begin(), found.others.end());
  return found;
}

std::string left_out_of(const std::string& folder) {
  constexpr size_t kMostListed = 3;
  std::vector<std::string> others = files_of(folder).others;
  if (others.empty()) return {};
  const bool one = others.size() == 1, more = others.size() > kMostListed;
  const std::string count = counted(static_cast<int64_t>(others.size()), "file");
  if (more) others.resize(kMostListed);
  return fmt::format("{} of the folder {} {} neither .txt nor JSON lines and {} left out: {}{}", count,
                     folder, one ? "is" : "are", one ? "was" : "were", fmt::join(others, ", "),
                     more ? " and others" : "");
}

// The size of a file; 0 if it has none, for example a pipe.
int64_t file_bytes(const std::string& path) {
  std::error_code error;
  const auto bytes = fs::file_size(path, error);
  return error ? 0 : static_cast<int64_t>(bytes);
}

// Cuts a plain text into documents, line by line.
class PlainText {
 public:
  explicit PlainText(const OnDocument& on_document) : on_document_(on_document) {}

  // `bytes`: read so far, with this line.
  void add(const std::string& line, int64_t bytes) {
    bytes_ = bytes;
    if (line == "<|endoftext|>") return end();
    const bool blank = is_blank(line);
    if (!document_.empty() || !blank) document_ += line + "\n";
    if (document_.size() >= kEndAtLine || (blank && document_.size() >= kEndAtBlankLine)) end();
  }
  void end() {
    if (!is_blank(document_)) on_document_(std::move(document_), bytes_);
    document_.clear();
  }

 private:
  const OnDocument& on_document_;
  std::string document_;
  int64_t bytes_ = 0;
};

// Reads one file, of either form. Returns what was left out; empty if nothing was.
std::string read_file(const std::string& path, int64_t before, const OnDocument& on_document) {
  TextLines lines(path, InputFile::Takes::FilesAndPipes);
  const bool is_json = has_name_of_json_lines(path) || begins_as_json(lines.beginning());
  JsonLines json(path);
  PlainText plain(on_document);
  std::string line;
  try {
    while (lines.next(line)) {
      const int64_t bytes = before + lines.bytes();
      if (!is_json) {
        plain.add(line, bytes);
      } else if (!is_blank(line)) {
        if (auto document = json.document(line, lines.number())) on_document(std::move(*document), bytes);
      }
    }
    plain.end();
  } catch (const std::bad_alloc&) {
    throw run_error(
        fmt::format("{}, line {}: there is not enough memory for the text up to here", path, lines.number()));
  }
  return json.left_out();
}

// Cuts what `bible` prints into documents, one a chapter. It prints one verse per line: "Ge1:1 In the
// beginning ...". The part before the colon names the chapter.
class Sample {
 public:
  explicit Sample(const OnDocument& on_document) : on_document_(on_document) {}

  void add(std::string_view printed) {
    for (const char letter : printed) {
      ++bytes_;
      if (letter != '\n') {
        line_ += letter;
        continue;
      }
      end_line();
      line_.clear();
    }
  }
  void end() {
    if (!document_.empty()) on_document_(std::move(document_), bytes_);
    document_.clear();
  }
  int64_t bytes() const { return bytes_; }

 private:
  void end_line() {
    const size_t colon = line_.find(':'), space = line_.find(' ');
    if (colon == std::string::npos || space == std::string::npos || colon > space) return;
    if (line_.compare(0, colon, chapter_) != 0) {
      end();
      chapter_ = line_.substr(0, colon);
    }
    document_ += line_.substr(space + 1) + "\n";
  }

  const OnDocument& on_document_;
  int64_t bytes_ = 0;
  std::string chapter_, document_, line_;
};

// A pipe from a program that is started.
struct Pipe {
  Pipe() {
    if (pipe2(ends.data(), O_CLOEXEC) != 0)
      throw run_error(fmt::format("cannot start the program bible, which prints the sample corpus: {}",
                                  reason_and_remedy(errno, Refused::Start)));
  }
  ~Pipe() {
    for (int& end : ends) close_end(end);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  static void close_end(int& end) {
    if (end >= 0) close(end);
    end = -1;
  }
  std::array<int, 2> ends{-1, -1};
};

void read_sample(const OnDocument& on_document) {
  Pipe pipe;
  auto& [from, to] = pipe.ends;
  ChildProgram bible(kSampleCommand, {.output = to},
                     "the sample corpus needs the program bible, which is not installed; run ./app/setup.sh, "
                     "install Debian's package bible-kjv, or give a text of your own");
  Pipe::close_end(to);
  Sample sample(on_document);
  std::array<char, 1 << 16> buffer;
  for (ssize_t got = 1; got != 0;) {
    got = read(from, buffer.data(), buffer.size());
    if (got < 0 && errno != EINTR)
      throw run_error(fmt::format("cannot read what the program bible prints: {}",
                                  reason_and_remedy(errno, Refused::Read)));
    if (got > 0) sample.add({buffer.data(), static_cast<size_t>(got)});
  }
  const std::string why = bible.wait();
  if (!why.empty() || sample.bytes() == 0)
    throw run_error(
        fmt::format("the program bible, which prints the sample corpus, failed after {} bytes: {}",
                    sample.bytes(), why.empty() ? "it printed nothing" : why));
  sample.end();
}

}  // namespace

std::vector<std::string> source_files(const std::string& source) {
  if (source == kSample) return {source};
  if (!fs::exists(source))
    throw request_error(
        fmt::format("there is no text at {}; give a file, a folder, or the word {}", source, kSample));
  if (!fs::is_directory(source)) return {source};
  std::vector<std::string> files = files_of(source).texts;
  if (files.empty())
    throw request_error(fmt::format("the folder {} has no .txt, .jsonl or .ndjson file", source));
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

std::vector<std::string> read_documents(const std::string& source, const OnDocument& on_document) {
  std::vector<std::string> left_out;
  const auto note = [&](std::string what) {
    if (!what.empty()) left_out.push_back(std::move(what));
  };
  if (source == kSample) {
    read_sample(on_document);
    note(hidden_path_remark(source, {kSample}, "the built-in text"));
    return left_out;
  }
  int64_t before = 0;
  for (const std::string& file : source_files(source)) {
    note(read_file(file, before, on_document));
    before += file_bytes(file);
  }
  if (fs::is_directory(source)) note(left_out_of(source));
  return left_out;
}

}  // namespace shardlens
