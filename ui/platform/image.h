// A picture in memory, and functions that write it as PNG.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace shardlens {

// Size in pixels.
struct PixelSize {
  int width = 0;
  int height = 0;
  bool operator==(const PixelSize&) const = default;
};

// 8-bit RGBA, top row first: rgba has size.width * size.height * 4 bytes.
struct Image {
  PixelSize size;
  std::vector<std::uint8_t> rgba;

  // The four bytes at column x, row y.
  const std::uint8_t* pixel(int x, int y) const {
    return rgba.data() + 4 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(size.width) +
                              static_cast<std::size_t>(x));
  }
};

// The bytes of a PNG without alpha.
std::vector<std::uint8_t> encode_png(const Image& image);

// Writes `image` as a PNG without alpha. The file appears whole or not at all: it is written under another
// name and then renamed. Throws Error if the folder does not exist or cannot be written to.
void write_png(const Image& image, const std::filesystem::path& path);

}  // namespace shardlens
