// Damage to a protobuf message: it is taken apart into fields, harmed in one, and put together with the right
// lengths.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "tests/fuzz/file_harm.h"

namespace shardlens::fuzz {
namespace {

enum WireType : uint64_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct Field {
  uint64_t tag = 0;     // the field's number and its WireType
  uint64_t number = 0;  // a varint's value
  std::string bytes;    // of other types
  uint64_t type() const { return tag & 7; }
};

void write_varint(std::string& out, uint64_t value) {
  while (value > 127) {
    out += static_cast<char>(value | 128);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

std::optional<uint64_t> read_varint(const std::string& in, size_t& at) {
  uint64_t value = 0;
  for (uint64_t shift = 0; at < in.size() && shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(in[at++]);
    value |= uint64_t{byte & 127U} << shift;
    if (byte < 128) return value;
  }
  return std::nullopt;
}

// Nothing if these are not the bytes of a message.
std::optional<std::vector<Field>> fields_of(const std::string& message) {
  std::vector<Field> fields;
  for (size_t at = 0; at < message.size();) {
    Field field;
    const auto tag = read_varint(message, at);
    if (!tag || *tag < 8) return std::nullopt;
    field.tag = *tag;
    if (field.type() == kVarint) {
      const auto number = read_varint(message, at);
      if (!number) return std::nullopt;
      field.number = *number;
    } else {
      std::optional<uint64_t> size = field.type() == kFixed64 ? 8 : 4;
      if (field.type() == kBytes)
        size = read_varint(message, at);
      else if (field.type() != kFixed64 && field.type() != kFixed32)
        return std::nullopt;
      if (!size || *size > message.size() - at) return std::nullopt;
      field.bytes = message.substr(at, *size);
      at += *size;
    }
    fields.push_back(std::move(field));
  }
  return fields;
}

std::string message_of(const std::vector<Field>& fields, Random& random, std::string& done) {
  std::string message;
  for (const Field& field : fields) {
    write_varint(message, field.tag);
    if (field.type() == kVarint) {
      write_varint(message, field.number);
      continue;
    }
    if (field.type() == kBytes) {
      uint64_t size = field.bytes.size();
      if (below(random, 40 * fields.size()) == 0) {
        size = static_cast<uint64_t>(one_of(random, kNumbers));
        done += fmt::format(", a length of {}", size);
      }
      write_varint(message, size);
    }
    message += field.bytes;
  }
  return message;
}

std::string harm_fields(std::vector<Field> fields, Random& random, std::string& done);

// A text, bytes of another form, or a message with fields of its own.
void harm_field(Field& field, Random& random, std::string& done) {
  if (field.type() == kVarint) {
    field.number = below(random, 2) == 0 ? static_cast<uint64_t>(one_of(random, kNumbers)) : below(random, 8);
    done += fmt::format("a number of {}", static_cast<int64_t>(field.number));
  } else if (field.type() != kBytes) {
    // NaN, infinity, the largest, zero
    static const std::string kFloats[] = {
        {0, 0, '\xc0', '\x7f'}, {0, 0, '\x80', '\x7f'}, {'\xff', '\xff', '\x7f', '\x7f'}, {0, 0, 0, 0}};
    field.bytes = (field.type() == kFixed64 ? std::string(4, '\0') : "") + one_of(random, kFloats);
    done += "another fraction";
  } else if (const auto inner = fields_of(field.bytes); inner && !inner->empty() && below(random, 4) > 0) {
    field.bytes = harm_fields(*inner, random, done);
  } else if (below(random, 2) == 0) {
    field.bytes = strange_text(random);
    done += "a strange text";
  } else {
    field.bytes = harm_bytes(std::move(field.bytes), random, done);
  }
}

std::string harm_fields(std::vector<Field> fields, Random& random, std::string& done) {
  size_t at = below(random, fields.size());
  // Most fields are pieces of a vocabulary: the few others as often.
  if (below(random, 2) == 0) {
    const auto other = std::find_if(fields.begin(), fields.end(),
                                    [&](const Field& field) { return field.tag != fields[0].tag; });
    const auto rest = static_cast<uint64_t>(fields.end() - other);
    if (rest > 0) at = fields.size() - 1 - below(random, std::min<uint64_t>(rest, 8));
  }
  switch (below(random, 10)) {
    case 0:
      fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(at));
      done += "a field taken out";
      break;
    case 1:
      fields.push_back(fields[at]);
      done += "a field again";
      break;
    case 2:
      std::swap(fields[at], fields[below(random, fields.size())]);
      done += "two fields in each other's place";
      break;
    case 3:
      fields[at].tag = (below(random, 40) << 3) | fields[at].type();
      done += "another field's number";
      break;
    default:
      harm_field(fields[at], random, done);
  }
  return message_of(fields, random, done);
}

}  // namespace

std::string harm_protobuf(std::string bytes, Random& random, std::string& done) {
  std::optional<std::vector<Field>> fields = fields_of(bytes);
  if (!fields || fields->empty()) return harm_bytes(std::move(bytes), random, done);
  return harm_fields(std::move(*fields), random, done);
}

}  // namespace shardlens::fuzz
