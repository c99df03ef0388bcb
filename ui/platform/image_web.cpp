// A page cannot write PNG files yet.
#include "engine/base/error.h"
#include "ui/platform/image.h"

namespace shardlens {

std::vector<std::uint8_t> encode_png(const Image&) {
  throw request_error(
      "a page cannot make PNG files: take the browser's own picture of the page, or the program on a "
      "desktop");
}

void write_png(const Image& image, const std::filesystem::path&) {
  encode_png(image);
}

}  // namespace shardlens
