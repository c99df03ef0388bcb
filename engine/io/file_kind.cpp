// The marks by which forms of files are known.
#include "engine/io/file_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "engine/base/error.h"
#include "engine/base/utf8.h"
#include "engine/io/input_file.h"

namespace shardlens {
namespace {

using namespace std::string_view_literals;

struct Mark {
  std::string_view bytes;
  FileKind kind;
  const char* title;   ///< "FILE is …, not a text"
  const char* remedy;  ///< "give a text file, …"
};

constexpr Mark kMarks[] = {
    {"\x93NUMPY"sv, FileKind::Npy, "a NumPy array", ""},
    {"SLTOKENS"sv, FileKind::Tokens, "a token file", " or the text that it was made of"},
    {"SQLite format 3\0"sv, FileKind::Recording, "a recording", ""},
    {"\x1f\x8b"sv, FileKind::Foreign, "compressed", "; gunzip writes one"},
    {"\xfd"
     "7zXZ\0"sv,
     FileKind::Foreign, "compressed", "; unxz writes one"},
    {"\x28\xb5\x2f\xfd"sv, FileKind::Foreign, "compressed", "; unzstd writes one"},
    {"BZh91AY&SY"sv, FileKind::Foreign, "compressed", "; bunzip2 writes one"},
    {"PK\x03\x04"sv, FileKind::Foreign, "a zip archive", "; unzip writes its files"},
    {"%PDF-"sv, FileKind::Foreign, "a PDF", "; pdftotext writes one"},
    {"PAR1"sv, FileKind::Foreign, "a Parquet table", ", or its texts as JSON lines"},
    {"\x89PNG"sv, FileKind::Foreign, "a picture (PNG)", ""},
    {"\xff\xd8\xff"sv, FileKind::Foreign, "a picture (JPEG)", ""},
    {"GIF8"sv, FileKind::Foreign, "a picture (GIF)", ""},
    {"\x1a\x45\xdf\xa3"sv, FileKind::Foreign, "a video (Matroska)", ""},
    {"\x7f"
     "ELF"sv,
     FileKind::Foreign, "a program", ""},
    {"\xff\xfe"sv, FileKind::Foreign, "a text in UTF-16", "; iconv -f UTF-16 -t UTF-8 writes one"},
    {"\xfe\xff"sv, FileKind::Foreign, "a text in UTF-16", "; iconv -f UTF-16 -t UTF-8 writes one"}};

// A safetensors file has no mark: it begins with the length of its header, which is a JSON object.
bool begins_as_safetensors(std::string_view beginning) {
  constexpr size_t kLengthBytes = 8, kHighBytes = 4;  // no header has 4 GiB
  return beginning.size() > kLengthBytes && beginning[kLengthBytes] == '{' &&
         beginning.substr(kLengthBytes - kHighBytes, kHighBytes) == "\0\0\0\0"sv;
}

const Mark* mark_of(std::string_view beginning) {
  const auto found = std::find_if(std::begin(kMarks), std::end(kMarks),
                                  [&](const Mark& mark) { return beginning.starts_with(mark.bytes); });
  return found == std::end(kMarks) ? nullptr : found;
}

}  // namespace

FileKind kind_of_bytes(std::string_view beginning) {
  if (const Mark* const mark = mark_of(beginning)) return mark->kind;
  return begins_as_safetensors(beginning) ? FileKind::Safetensors : FileKind::Unknown;
}

bool begins_as_recording(std::string_view beginning) {
  constexpr size_t kApplicationAt = 68;  // in the header of a database
  return kind_of_bytes(beginning) == FileKind::Recording && beginning.size() > kApplicationAt &&
         beginning.substr(kApplicationAt).starts_with("SHLD");  // kRecordingId
}

std::string title_of_bytes(std::string_view beginning) {
  if (kind_of_bytes(beginning) == FileKind::Recording && !begins_as_recording(beginning))
    return "a database of SQLite";
  if (const Mark* const mark = mark_of(beginning)) return mark->title;
  if (begins_as_safetensors(beginning)) return "a safetensors file";
  if (beginning.substr(0, kTextBeginningBytes).find('\0') != std::string_view::npos)
    return "a file of an unknown form";
  return beginning.empty() ? "an empty file" : "a text";
}

FileKind kind_of_file(const std::string& path) {
  try {
    InputFile file(path);
    std::array<char, 16> beginning;
    return kind_of_bytes({beginning.data(), file.read_next(beginning.data(), beginning.size())});
  } catch (const Error&) {
    return FileKind::Unknown;
  }
}

std::string ending_of(const std::string& path) {
  return lower_case(std::filesystem::path(path).extension().string());
}

bool is_weights_file(const std::string& path) {
  return ending_of(path) == ".safetensors" || kind_of_file(path) == FileKind::Safetensors;
}

void require_text(const std::string& path, std::string_view beginning) {
  if (const Mark* const mark = mark_of(beginning))
    throw request_error(
        fmt::format("{} is {}, not a text: give a text file in UTF-8{}", path, mark->title, mark->remedy));
  if (begins_as_safetensors(beginning))
    throw request_error(fmt::format("{} is a safetensors file, not a text: give a text file in UTF-8", path));
  const size_t zero = beginning.substr(0, kTextBeginningBytes).find('\0');
  if (zero == std::string_view::npos) return;
  throw request_error(fmt::format(
      "{}, line {} holds a byte of 0, so it is not a text in UTF-8. Give a text file; to convert a text from "
      "UTF-16, use `iconv -f UTF-16 -t UTF-8`",
      path, 1 + std::count(beginning.begin(), beginning.begin() + static_cast<std::ptrdiff_t>(zero), '\n')));
}

}  // namespace shardlens
