// Both hashes give the same values as other programs and older versions.
#include "engine/io/hash.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "engine/io/hash_of_version_1.h"

namespace shardlens {
namespace hash_test {

std::string some_bytes(size_t count) {
  std::string bytes(count, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * i / 251 + i);
  return bytes;
}

struct Known {
  size_t bytes;
  uint64_t hash;
};

// By Debian's libxxhash.so. The function has a path of its own for up to 16, 128 and 240 bytes and for more.
TEST(Hash, IsXxh3) {
  for (const auto& [count, hash] :
       {Known{0, 0x2d06800538d394c2}, Known{1, 0xc44bdff4074eecdb}, Known{4, 0x60dab036a58211f2},
        Known{16, 0x8355e3a6f61770db}, Known{17, 0x69ca435cfdcc4d87}, Known{100, 0x3aae1ad6194b0cf2},
        Known{200, 0xd9d039703c705a87}, Known{241, 0x9108dac0bdaa7e97}, Known{1000, 0x0468a69840ea7572},
        Known{5000, 0xc415d0435b7784de}})
    EXPECT_EQ(hash64(some_bytes(count).data(), count), hash) << count;
}

TEST(Hash, ThatOfVersion1IsTheSameInEveryVersion) {
  for (const auto& [count, hash] :
       {Known{0, 0xdaaa9ad0935e0a5d}, Known{1, 0xec449d199c9b462f}, Known{16, 0x420a3ef9b5ca2721},
        Known{100, 0xd968054d60bc502c}, Known{1000, 0x83c982c1f670b565}, Known{5000, 0x263a3f018448e882}})
    EXPECT_EQ(hash_of_version_1(some_bytes(count).data(), count), hash) << count;
}

TEST(Hash, TellsBytesApart) {
  std::vector<float> values(1000, 1.0f);
  std::set<uint64_t> hashes = {hash64(values.data(), 4000)};
  for (size_t i = 0; i < values.size(); i += 7) {
    values[i] = std::nextafter(values[i], 2.0f);
    EXPECT_TRUE(hashes.insert(hash64(values.data(), 4000)).second);
  }
  EXPECT_NE(hash64(values.data(), 3999), hash64(values.data(), 4000));
}

}  // namespace hash_test
}  // namespace shardlens
