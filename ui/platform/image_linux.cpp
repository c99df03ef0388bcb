// Encodes PNG with libpng's simplified interface.
#include "ui/platform/image.h"

#include <fmt/format.h>
#include <png.h>

#include <cstring>

#include "engine/base/error.h"
#include "engine/io/atomic_file.h"

namespace shardlens {

std::vector<std::uint8_t> encode_png(const Image& image) {
  // Without alpha a screenshot is opaque, no matter what blending has left in the alpha channel.
  const auto pixels =
      static_cast<std::size_t>(image.size.width) * static_cast<std::size_t>(image.size.height);
  std::vector<std::uint8_t> rgb(3 * pixels);
  for (std::size_t i = 0; i < pixels; ++i) std::memcpy(&rgb[3 * i], &image.rgba[4 * i], 3);

  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.width = static_cast<png_uint_32>(image.size.width);
  png.height = static_cast<png_uint_32>(image.size.height);
  png.format = PNG_FORMAT_RGB;
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(png);
  std::vector<std::uint8_t> encoded(bytes);
  if (png_image_write_to_memory(&png, encoded.data(), &bytes, 0, rgb.data(), 0, nullptr) == 0) {
    throw run_error(fmt::format("cannot encode a {}x{} picture as PNG: {}", image.size.width,
                                image.size.height, png.message));
  }
  encoded.resize(bytes);
  return encoded;
}

void write_png(const Image& image, const std::filesystem::path& path) {
  const std::vector<std::uint8_t> encoded = encode_png(image);
  AtomicFile file(path.string(), kPicture);
  file.write(encoded.data(), encoded.size());
  file.commit();
}

}  // namespace shardlens
