// Philox4x32-10 and the two distributions drawn from it. The loops run over small arrays, one array for each
// word, so that the compiler turns them into vector code. Every operation on values is one IEEE operation
// without contraction (the build forbids it for this file), so the bits are the same in a vector lane, in a
// loop's tail and on any machine.
#include "engine/device/philox.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

#include "engine/device/cpu/processor.h"

namespace shardlens {
namespace {

constexpr uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;  // the authors' constants
constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;              // golden ratio, sqrt(3) - 1
constexpr int kRounds = 10;
constexpr int kBlocks = 256;  // blocks drawn at a time

// Four words of up to kBlocks blocks, word by word.
struct Words {
  alignas(64) uint32_t word[4][kBlocks];
};

void draw(const RandomStream& stream, uint64_t first_block, int blocks, Words& words) {
  const auto name_low = static_cast<uint32_t>(stream.name_hash);
  const auto name_high = static_cast<uint32_t>(stream.name_hash >> 32);
  for (int i = 0; i < blocks; ++i) {
    const uint64_t block = first_block + static_cast<uint64_t>(i);
    uint32_t c0 = static_cast<uint32_t>(block), c1 = static_cast<uint32_t>(block >> 32);
    uint32_t c2 = name_low, c3 = name_high;
    uint32_t k0 = static_cast<uint32_t>(stream.seed), k1 = static_cast<uint32_t>(stream.seed >> 32);
    for (int round = 0; round < kRounds; ++round) {
      const uint64_t product0 = static_cast<uint64_t>(kMultiplier0) * c0;
      const uint64_t product1 = static_cast<uint64_t>(kMultiplier1) * c2;
      c0 = static_cast<uint32_t>(product1 >> 32) ^ c1 ^ k0;
      c2 = static_cast<uint32_t>(product0 >> 32) ^ c3 ^ k1;
      c1 = static_cast<uint32_t>(product1);
      c3 = static_cast<uint32_t>(product0);
      k0 += kWeyl0;
      k1 += kWeyl1;
    }
    words.word[0][i] = c0;
    words.word[1][i] = c1;
    words.word[2][i] = c2;
    words.word[3][i] = c3;
  }
}

// sqrt(-2 ln u) for u = (word + 1/2) / 2^32.
inline double radius(uint32_t word) {
  // u = m * 2^e with m in [sqrt(1/2), sqrt(2)): the bits of sqrt(1/2) are taken off before the exponent is
  // read.
  const double u = (static_cast<double>(word) + 0.5) * 0x1p-32;
  constexpr uint64_t kSqrtHalf = std::bit_cast<uint64_t>(0.70710678118654752440);
  constexpr uint64_t kExponentMask = 0xFFF0000000000000;
  const uint64_t bits = std::bit_cast<uint64_t>(u);
  const uint64_t exponent_bits = (bits - kSqrtHalf) & kExponentMask;
  const double m = std::bit_cast<double>(bits - exponent_bits);
  // e is in [-33, 0]. Its 12 bits become a double without a 64-bit conversion, which not every machine has in
  // vectors: e + 1.5 * 2^52 has e in its low bits.
  constexpr double kShift = 0x1.8p52;
  const uint64_t e_bits = (exponent_bits >> 52) | (0 - ((exponent_bits >> 63) << 12));
  const double e = std::bit_cast<double>(std::bit_cast<uint64_t>(kShift) + e_bits) - kShift;
  // ln m = 2 artanh s, s = (m - 1) / (m + 1), |s| < 0.172: eleven terms of the series reach the last bit.
  const double s = (m - 1) / (m + 1);
  const double z = s * s;
  double sum = 1.0 / 21;
  for (int odd = 19; odd >= 1; odd -= 2) sum = sum * z + 1.0 / odd;
  constexpr double kLn2 = 0.69314718055994530942;
  return std::sqrt(-2 * (e * kLn2 + 2 * s * sum));
}

struct Direction {
  double cosine, sine;
};

// The unit vector at a uniform angle: quadrant from the top two bits, offset from the quadrant's axis in
// (-pi/4, pi/4) from the other thirty, by the Taylor series.
inline Direction direction(uint32_t word) {
  constexpr double kPi = 3.14159265358979323846;
  const auto low = static_cast<double>(static_cast<int32_t>(word & 0x3FFFFFFF));
  const double angle = (low + 0.5 - 0x1p29) * (0x1p-31 * kPi);
  const double z = angle * angle;
  // 1/(2n)! and 1/(2n+1)! by nested division: cos = 1 - z/2 (1 - z/12 (1 - z/30 (...))), sin likewise.
  double cosine = 1;
  for (int n = 16; n >= 2; n -= 2) cosine = 1 - z * (1.0 / (n * (n - 1))) * cosine;
  double sine = 1;
  for (int n = 17; n >= 3; n -= 2) sine = 1 - z * (1.0 / (n * (n - 1))) * sine;
  sine *= angle;
  const uint32_t quadrant = word >> 30;
  const double x = quadrant & 1 ? -sine : cosine;
  const double y = quadrant & 1 ? cosine : sine;
  return {quadrant & 2 ? -x : x, quadrant & 2 ? -y : y};
}

// z[4 i .. 4 i + 3]: the four values of block i.
void normals(const Words& words, int blocks, double mean, double stddev, double* values) {
  alignas(64) double value[4][kBlocks];
  for (int pair = 0; pair < 2; ++pair) {
    const uint32_t* lengths = words.word[2 * pair];
    const uint32_t* angles = words.word[2 * pair + 1];
    double* first = value[2 * pair];
    double* second = value[2 * pair + 1];
    for (int i = 0; i < blocks; ++i) {
      const double scaled = stddev * radius(lengths[i]);
      const Direction unit = direction(angles[i]);
      first[i] = mean + scaled * unit.cosine;
      second[i] = mean + scaled * unit.sine;
    }
  }
  for (int i = 0; i < blocks; ++i) {
    for (int j = 0; j < 4; ++j) values[4 * i + j] = value[j][i];
  }
}

void integers(const Words& words, int blocks, int limit, double* values) {
  const uint64_t choices = 2 * static_cast<uint64_t>(limit) + 1;
  for (int i = 0; i < blocks; ++i) {
    for (int j = 0; j < 4; ++j) {
      const auto choice = static_cast<int32_t>((words.word[j][i] * choices) >> 32);
      values[4 * i + j] = static_cast<double>(choice - limit);
    }
  }
}

// Draws the blocks that cover [first, first + count), a few at a time. `make` turns them into values. Stores
// the values that were asked for.
template <class T, class Make>
void fill(const RandomStream& stream, int64_t first, int64_t count, T* out, const Make& make) {
  cpu::require_processor();
  Words words;
  alignas(64) double values[4 * kBlocks];
  int64_t index = first;
  const int64_t end = first + count;
  while (index < end) {
    const int64_t block = index / 4;
    const int64_t skip = index % 4;
    const int64_t wanted = std::min<int64_t>(end - index, 4 * kBlocks - skip);
    const int blocks = static_cast<int>((skip + wanted + 3) / 4);
    draw(stream, static_cast<uint64_t>(block), blocks, words);
    make(words, blocks, values);
    for (int64_t j = 0; j < wanted; ++j) out[j] = static_cast<T>(values[skip + j]);
    out += wanted;
    index += wanted;
  }
}

template <class Make>
void fill(const RandomStream& stream, int64_t first, int64_t count, DType dtype, void* out,
          const Make& make) {
  if (first < 0 || count < 0)
    throw std::logic_error("a random range begins at or after 0 and has no negative length");
  switch (dtype) {
    case DType::Fp32:
      return fill(stream, first, count, static_cast<float*>(out), make);
    case DType::Fp64:
      return fill(stream, first, count, static_cast<double*>(out), make);
    case DType::Fp16:
    case DType::Bf16:
    case DType::Int32:
      break;
  }
  throw std::logic_error("random values are drawn in fp32 or fp64");
}

}  // namespace

std::array<uint32_t, 4> philox4x32_10(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  RandomStream stream(0, "");
  stream.seed = key[0] | static_cast<uint64_t>(key[1]) << 32;
  stream.name_hash = counter[2] | static_cast<uint64_t>(counter[3]) << 32;
  Words words;
  draw(stream, counter[0] | static_cast<uint64_t>(counter[1]) << 32, 1, words);
  return {words.word[0][0], words.word[1][0], words.word[2][0], words.word[3][0]};
}

RandomStream::RandomStream(uint64_t seed_, std::string_view name)
    : seed(seed_), name_hash(0xCBF29CE484222325) {
  for (const char letter : name) name_hash = (name_hash ^ static_cast<unsigned char>(letter)) * 0x100000001B3;
}

void fill_words(const RandomStream& stream, int64_t first, int64_t count, uint32_t* out) {
  cpu::require_processor();
  Words words;
  const int64_t end = first + count;
  for (int64_t index = first; index < end;) {
    const int64_t skip = index % 4;
    const int64_t wanted = std::min<int64_t>(end - index, 4 * kBlocks - skip);
    const int blocks = static_cast<int>((skip + wanted + 3) / 4);
    draw(stream, static_cast<uint64_t>(index / 4), blocks, words);
    for (int64_t j = skip; j < skip + wanted; ++j) *out++ = words.word[j % 4][j / 4];
    index += wanted;
  }
}

void fill_normal(const RandomStream& stream, double mean, double stddev, int64_t first, int64_t count,
                 DType dtype, void* out) {
  fill(stream, first, count, dtype, out,
       [&](const Words& words, int blocks, double* values) { normals(words, blocks, mean, stddev, values); });
}

void fill_integers(const RandomStream& stream, int limit, int64_t first, int64_t count, DType dtype,
                   void* out) {
  if (limit < 0 || limit > 1 << 24) throw std::logic_error("the limit of random integers lies in [0, 2^24]");
  fill(stream, first, count, dtype, out,
       [&](const Words& words, int blocks, double* values) { integers(words, blocks, limit, values); });
}

}  // namespace shardlens
