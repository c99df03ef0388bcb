// Reads PNG files with libpng's simplified interface.
#include "tests/ui/read_png.h"

#include <png.h>

#include <stdexcept>
#include <string>

namespace shardlens {

Image read_png(const std::filesystem::path& path) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_file(&png, path.c_str()) == 0)
    throw std::runtime_error("cannot read " + path.string() + ": " + std::string(png.message));
  png.format = PNG_FORMAT_RGBA;
  Image image{{static_cast<int>(png.width), static_cast<int>(png.height)},
              std::vector<std::uint8_t>(PNG_IMAGE_SIZE(png))};
  if (png_image_finish_read(&png, nullptr, image.rgba.data(), 0, nullptr) == 0)
    throw std::runtime_error(path.string() + " is damaged: " + std::string(png.message));
  return image;
}

}  // namespace shardlens
