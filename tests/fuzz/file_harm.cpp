// Damage to bytes, lines, and to the two containers that begin with a header.
#include "tests/fuzz/file_harm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace shardlens::fuzz {
namespace {

constexpr size_t kLargestFile = 2 << 20;

std::string random_bytes(Random& random, uint64_t count) {
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

// [begin, end) of a place in the text.
struct Place {
  size_t begin = 0, end = 0;
};

Place any_block(Random& random, const std::string& bytes) {
  const size_t begin = below(random, bytes.size());
  return {begin, std::min(bytes.size(), begin + 1 + below(random, below(random, 4) == 0 ? 4096 : 64))};
}

Place any_line(Random& random, const std::string& text) {
  const size_t at = below(random, text.size() + 1);
  const size_t before = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
  const size_t after = text.find('\n', at);
  return {before == std::string::npos ? 0 : before + 1, after == std::string::npos ? text.size() : after + 1};
}

std::string as_utf16(const std::string& text) {
  std::string wide = "\xFF\xFE";
  for (const char byte : text) wide += {byte, '\0'};
  return wide;
}

// Of a header of `size` bytes: its length as `bytes` bytes in little-endian order, sometimes a wrong one.
std::string length_prefix(Random& random, size_t size, size_t bytes, std::string& done) {
  uint64_t length = size;
  if (below(random, 8) == 0) {
    length =
        below(random, 2) == 0 ? static_cast<uint64_t>(one_of(random, kNumbers)) : size + below(random, 9) - 4;
    done += fmt::format(", a length of {}", length);
  }
  std::string prefix(bytes, '\0');
  std::memcpy(prefix.data(), &length, bytes);
  return prefix;
}

}  // namespace

std::string strange_text(Random& random) {
  static const std::string kStrange[] = {"",
                                         " ",
                                         "\n",
                                         std::string("\0", 1),
                                         std::string("a\0b", 3),
                                         "\x1b[31mred\x1b]0;title\x07",
                                         "\x7f\xc2\x85",
                                         "\xff\xfe",
                                         "\xc3",
                                         "\xed\xa0\x80",
                                         "\xf0\x9f\x98\x80",
                                         "\xe2\x96\x81",
                                         "\xef\xbf\xbd",
                                         "e\xcc\x81",
                                         "..",
                                         "/",
                                         "nan",
                                         "-1",
                                         "[UNK]",
                                         "<|endoftext|>",
                                         "##"};
  if (below(random, 6) == 0) {
    const size_t length = one_of(random, std::array{200, 5000, 33'000, 70'000, 150'000});
    return std::string(length, one_of(random, std::array{'a', '0', ' ', '#'}));
  }
  std::string text = one_of(random, kStrange);
  if (below(random, 4) == 0) text += one_of(random, kStrange);
  return text;
}

std::string harm_bytes(std::string bytes, Random& random, std::string& done) {
  const auto insert = [&](const std::string& more) {
    bytes.insert(below(random, bytes.size() + 1), more);
    done += fmt::format("{} bytes put in", more.size());
  };
  switch (bytes.empty() ? 5 : below(random, 12)) {
    case 0:
      bytes.resize(below(random, bytes.size()));
      done += fmt::format("cut to {} bytes", bytes.size());
      break;
    case 1:
      bytes.clear();
      done += "emptied";
      break;
    case 2: {
      const Place block = any_block(random, bytes);
      bytes.erase(block.begin, block.end - block.begin);
      done += "a block taken out";
      break;
    }
    case 3: {
      const Place from = any_block(random, bytes), to = any_block(random, bytes);
      bytes.replace(to.begin, to.end - to.begin, bytes.substr(from.begin, from.end - from.begin));
      done += "a block in another's place";
      break;
    }
    case 4: {
      const Place block = any_block(random, bytes);
      const std::string one = bytes.substr(block.begin, block.end - block.begin);
      const size_t times =
          std::min<size_t>(one_of(random, std::array{2, 10, 100, 5000}), kLargestFile / one.size());
      std::string many;
      for (size_t i = 0; i < times; ++i) many += one;
      bytes.insert(block.begin, many);
      done += fmt::format("a block {} times", times);
      break;
    }
    case 5:
      insert(random_bytes(random, 1 + below(random, 64)));
      break;
    case 6:
      insert(std::string(1 + below(random, 16), '\0'));
      break;
    case 7:
      insert(strange_text(random));
      break;
    default: {
      const uint64_t count = 1 + below(random, 16);
      for (uint64_t i = 0; i < count; ++i) {
        // Most depends on a byte at the beginning.
        const uint64_t reach = below(random, 3) == 0 ? std::min<uint64_t>(bytes.size(), 64) : bytes.size();
        char& byte = bytes[below(random, reach)];
        byte = static_cast<char>(
            below(random, 2) == 0 ? random() : static_cast<unsigned char>(byte) ^ (1U << below(random, 8)));
      }
      done += fmt::format("{} bytes", count);
    }
  }
  return bytes;
}

std::string harm_lines(std::string text, Random& random, std::string& done) {
  const Place line = any_line(random, text);
  switch (below(random, 9)) {
    case 0:
      text.erase(line.begin, line.end - line.begin);
      done += "a line taken out";
      break;
    case 1: {
      const std::string one = text.substr(line.begin, line.end - line.begin);
      text.insert(any_line(random, text).begin, one);
      done += "a line again";
      break;
    }
    case 2:
      text.insert(line.begin, strange_text(random) + "\n");
      done += "a strange line";
      break;
    case 3:
      text.replace(line.begin, line.end - line.begin, strange_text(random) + "\n");
      done += "a strange line in another's place";
      break;
    case 4:
      text.insert(line.begin, std::string(1 + below(random, 50), '\n'));
      done += "empty lines";
      break;
    case 5:
      for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) text.insert(at, "\r");
      done += "ends of lines with \\r";
      break;
    case 6:
      text.insert(0, "\xEF\xBB\xBF");
      done += "a byte order mark";
      break;
    case 7:
      text = as_utf16(text);
      done += "in UTF-16";
      break;
    default:
      text.insert(line.begin + below(random, line.end - line.begin + 1), strange_text(random));
      done += "a strange word";
  }
  return text;
}

std::string harm_safetensors(std::string bytes, Random& random, std::string& done) {
  uint64_t length = 0;
  if (bytes.size() < sizeof length) return harm_bytes(std::move(bytes), random, done);
  std::memcpy(&length, bytes.data(), sizeof length);
  if (length > bytes.size() - sizeof length) return harm_bytes(std::move(bytes), random, done);
  std::string data = bytes.substr(sizeof length + length);
  std::string header = harm_json(bytes.substr(sizeof length, length), random, done);
  if (below(random, 6) == 0) data = harm_bytes(std::move(data), random, done += "; in the data ");
  return length_prefix(random, header.size(), sizeof length, done) + header + data;
}

std::string harm_npy(std::string bytes, Random& random, std::string& done) {
  constexpr size_t kBefore = 10;  // magic, version and the header's length
  static const std::string kWords[] = {"'<f4'", "'>f4'", "'<f8'", "'|O'",  "'<i4'", "'<c16'", "'|u1'",
                                       "True",  "False", "None",  "()",    "(1,)",  "(",      ")",
                                       "{",     "}",     "'",     "descr", "shape", ", "};
  if (bytes.size() < kBefore) return harm_bytes(std::move(bytes), random, done);
  const size_t length =
      static_cast<unsigned char>(bytes[8]) + 256 * size_t{static_cast<unsigned char>(bytes[9])};
  std::string header = bytes.substr(kBefore, length);
  const std::string data = bytes.size() > kBefore + length ? bytes.substr(kBefore + length) : "";
  const size_t digit = header.find_first_of("0123456789", below(random, header.size()));
  const size_t words = header.find_last_not_of(" \n") + 1;
  switch (below(random, 4)) {
    case 0:
      if (digit != std::string::npos) {
        const size_t end = header.find_first_not_of("0123456789", digit);
        header.replace(digit, end - digit, std::to_string(one_of(random, kNumbers)));
      }
      done += "a number of the header";
      break;
    case 1:
      header.insert(below(random, words + 1), one_of(random, kWords));
      done += "a word in the header";
      break;
    case 2:
      header.insert(below(random, words + 1), strange_text(random));
      done += "a strange word in the header";
      break;
    default: {
      const size_t begin = header.find_first_of("'(TF", below(random, header.size()));
      if (begin != std::string::npos) {
        const size_t end = header.find_first_of(",}", begin);
        header.replace(begin, end == std::string::npos ? 1 : end - begin, one_of(random, kWords));
      }
      done += "a value of the header";
    }
  }
  bytes.resize(8);
  if (below(random, 8) == 0) bytes[6] = static_cast<char>(below(random, 5));  // another version
  const size_t size = bytes[6] > 1 ? 4 : 2;
  return bytes + length_prefix(random, header.size(), size, done) + header + data;
}

std::string harm_file(FileKind kind, std::string bytes, Random& random, std::string& done) {
  const uint64_t count = below(random, 2) == 0 ? 1 : 1 + below(random, 4);
  for (uint64_t i = 0; i < count; ++i) {
    if (i > 0) done += "; ";
    auto* way = harm_bytes;
    if (below(random, 5) > 0) {
      switch (kind) {
        case FileKind::Bytes:
          break;
        case FileKind::Lines:
          way = harm_lines;
          break;
        case FileKind::Json:
          way = harm_json;
          break;
        case FileKind::Safetensors:
          way = harm_safetensors;
          break;
        case FileKind::Npy:
          way = harm_npy;
          break;
        case FileKind::Protobuf:
          way = harm_protobuf;
          break;
        case FileKind::Lesson:
          way = harm_lesson;
          break;
        case FileKind::State:
          way = harm_state;
          break;
      }
    }
    bytes = way(std::move(bytes), random, done);
    if (bytes.size() > kLargestFile) bytes.resize(kLargestFile);
  }
  return bytes;
}

}  // namespace shardlens::fuzz
