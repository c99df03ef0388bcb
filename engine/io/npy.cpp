// Reads NumPy's .npy files. The header is a Python dict as text, {'descr': '<f4', 'fortran_order': False,
// 'shape': (3, 4), }. A parser for exactly this grammar reads it.
#include "engine/io/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/shown.h"

namespace shardlens {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian and read as they are");

constexpr char kMagic[] = "\x93NUMPY";
constexpr size_t kMagicBytes = 6;
constexpr int64_t kLongestNpyHeader = 1 << 16;
constexpr size_t kMostDimensions = 32;  // NumPy's own limit

struct TypeName {
  NpyType type;
  const char* name;
  const char* descr;
};
constexpr TypeName kTypes[] = {{NpyType::Int32, "int32", "<i4"},
                               {NpyType::Int64, "int64", "<i8"},
                               {NpyType::Float32, "float32", "<f4"},
                               {NpyType::Float64, "float64", "<f8"}};

struct Header {
  std::string descr;
  bool fortran_order = false;
  Shape shape;
};

// A cursor over the header's text. Every method skips blanks first, and throws only the Error that fail()
// makes.
class HeaderParser {
 public:
  HeaderParser(const std::string& text, const std::string& path) : text_(text), path_(path) {}

  Header parse() {
    Header header;
    bool seen[3] = {};
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      const int which = key == "descr" ? 0 : key == "fortran_order" ? 1 : key == "shape" ? 2 : -1;
      if (which < 0 || seen[which]) fail();
      seen[which] = true;
      if (which == 0) header.descr = quoted();
      if (which == 1) header.fortran_order = boolean();
      if (which == 2) header.shape = shape();
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_blanks();
    if (at_ != text_.size() || !seen[0] || !seen[1] || !seen[2]) fail();
    return header;
  }

 private:
  [[noreturn]] void fail() const {
    throw request_error(
        fmt::format("{}: the .npy header is damaged at its byte {}; expected {{'descr': ..., "
                    "'fortran_order': ..., 'shape': (...), }}",
                    path_, at_));
  }
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool accept(char letter) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != letter) return false;
    ++at_;
    return true;
  }
  void expect(char letter) {
    if (!accept(letter)) fail();
  }
  std::string quoted() {
    skip_blanks();
    const char quote = accept('\'') ? '\'' : accept('"') ? '"' : '\0';
    const size_t end = quote == '\0' ? std::string::npos : text_.find(quote, at_);
    if (end == std::string::npos) fail();
    const std::string word = text_.substr(at_, end - at_);
    at_ = end + 1;
    return word;
  }
  bool boolean() {
    skip_blanks();
    for (const bool value : {true, false}) {
      const std::string word = value ? "True" : "False";
      if (text_.compare(at_, word.size(), word) == 0) {
        at_ += word.size();
        return value;
      }
    }
    fail();
  }
  int64_t number() {
    skip_blanks();
    int64_t value = 0;
    const size_t first = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      if (__builtin_mul_overflow(value, int64_t{10}, &value) ||
          __builtin_add_overflow(value, int64_t{text_[at_] - '0'}, &value)) {
        fail();
      }
      ++at_;
    }
    if (at_ == first) fail();
    return value;
  }
  Shape shape() {
    Shape extents;
    expect('(');
    while (!accept(')')) {
      extents.push_back(number());
      if (extents.size() > kMostDimensions) fail();
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return extents;
  }

  const std::string& text_;
  const std::string& path_;
  size_t at_ = 0;
};

NpyType type_of(const std::string& descr, const std::string& path) {
  for (const TypeName& type : kTypes) {
    if (descr == type.descr) return type.type;
  }
  const bool big_endian = descr.size() == 3 && descr[0] == '>';
  throw request_error(
      fmt::format("{}: the array has type '{}'{}; expected int32, int64, float32 or float64, "
                  "little-endian. Convert it with astype and save it again",
                  path, shown(descr), big_endian ? ", which is big-endian" : ""));
}

// Returns the bytes of the array, or nothing if they do not fit into 63 bits.
std::optional<int64_t> data_bytes(const Shape& shape, NpyType type) {
  int64_t bytes = element_bytes(type);
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  for (const int64_t extent : shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) return std::nullopt;
  }
  return bytes;
}

// Reads `count` numbers at `offset`, a piece at a time, so that the file's bytes need no memory of their own.
template <class From, class To>
void read_as(const InputFile& file, int64_t offset, int64_t count, To* out) {
  constexpr int64_t kPiece = 1 << 16;
  std::vector<From> piece(static_cast<size_t>(std::min(count, kPiece)));
  for (int64_t done = 0; done < count; done += kPiece) {
    const auto now = static_cast<size_t>(std::min(kPiece, count - done));
    file.read(offset + done * static_cast<int64_t>(sizeof(From)), piece.data(), now * sizeof(From));
    std::transform(piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(now), out + done,
                   [](From value) { return static_cast<To>(value); });
  }
}

bool is_integer(NpyType type) {
  return type == NpyType::Int32 || type == NpyType::Int64;
}

}  // namespace

std::string to_string(NpyType type) {
  return std::find_if(std::begin(kTypes), std::end(kTypes), [&](const auto& t) { return t.type == type; })
      ->name;
}

int64_t element_bytes(NpyType type) {
  return type == NpyType::Int32 || type == NpyType::Float32 ? 4 : 8;
}

NpyFile::NpyFile(const std::string& path) : file_(path) {
  unsigned char start[12] = {};
  const size_t start_bytes = static_cast<size_t>(std::min<int64_t>(file_.size(), sizeof start));
  file_.read(0, start, start_bytes);
  if (start_bytes < 10 || std::memcmp(start, kMagic, kMagicBytes) != 0) {
    throw request_error(fmt::format("{} is not a .npy file ({} bytes, without NumPy's mark at its beginning)",
                                    path, file_.size()));
  }
  const int version = start[6];
  if (version < 1 || version > 3) {
    throw request_error(
        fmt::format("{}: .npy format version {}.{}; expected 1, 2 or 3", path, version, start[7]));
  }
  const int64_t prefix_bytes = version == 1 ? 10 : 12;
  int64_t header_bytes = start[8] | start[9] << 8;
  if (version > 1)
    header_bytes |= static_cast<int64_t>(start[10]) << 16 | static_cast<int64_t>(start[11]) << 24;
  if (header_bytes > kLongestNpyHeader || prefix_bytes + header_bytes > file_.size()) {
    throw request_error(
        fmt::format("{}: its header should have {} bytes and the whole file has {}: the file is cut "
                    "short or damaged",
                    path, header_bytes, file_.size()));
  }
  std::string text(static_cast<size_t>(header_bytes), '\0');
  file_.read(prefix_bytes, text.data(), text.size());
  Header header = HeaderParser(text, path).parse();

  type_ = type_of(header.descr, path);
  shape_ = std::move(header.shape);
  if (header.fortran_order && shape_.size() > 1) {
    throw request_error(
        fmt::format("{}: the array is in Fortran order; expected C order. Save "
                    "numpy.ascontiguousarray of it",
                    path));
  }
  const std::optional<int64_t> expected = data_bytes(shape_, type_);
  data_begin_ = prefix_bytes + header_bytes;
  const int64_t found = file_.size() - data_begin_;
  if (!expected || *expected != found) {
    throw request_error(
        fmt::format("{}: {} of shape {} needs {} bytes of data and the file has {}: it is cut short "
                    "or damaged",
                    path, to_string(type_), to_string(shape_),
                    expected ? std::to_string(*expected) : "more than 2^63", found));
  }
  count_ = found / element_bytes(type_);
}

void NpyFile::require_floats() const {
  if (is_integer(type_))
    throw request_error(
        fmt::format("{}: the array has type {}; expected float32 or float64", path(), to_string(type_)));
}

void NpyFile::require_integers() const {
  if (!is_integer(type_))
    throw request_error(
        fmt::format("{}: the array has type {}; expected int32 or int64", path(), to_string(type_)));
}

template <class To>
void NpyFile::read(To* out) const {
  if (type_ == NpyType::Int32) read_as<int32_t>(file_, data_begin_, count_, out);
  if (type_ == NpyType::Int64) read_as<int64_t>(file_, data_begin_, count_, out);
  if (type_ == NpyType::Float32) read_as<float>(file_, data_begin_, count_, out);
  if (type_ == NpyType::Float64) read_as<double>(file_, data_begin_, count_, out);
}

void NpyFile::read_floats(DType dtype, void* out) const {
  require_floats();
  if (dtype == DType::Fp32) return read(static_cast<float*>(out));
  if (dtype == DType::Fp64) return read(static_cast<double*>(out));
  throw request_error(fmt::format("{} cannot be read as {}; choose fp32 or fp64", path(), to_string(dtype)));
}

std::vector<int64_t> NpyFile::read_integers() const {
  require_integers();
  std::vector<int64_t> integers(static_cast<size_t>(count_));
  read(integers.data());
  return integers;
}

}  // namespace shardlens
