// A page lets the browser's canvas make PNG files, which takes the browser a moment. It has no encoder of its
// own.
#include <emscripten/emscripten.h>

#include "engine/base/error.h"
#include "ui/platform/image.h"

namespace shardlens {
namespace {

EM_JS(void, download_picture, (const void* rgba, int width, int height, const char* name), {
  Module.download_picture(UTF8ToString(name), HEAPU8.slice(rgba, rgba + 4 * width * height), width, height);
});

}  // namespace

std::vector<std::uint8_t> encode_png(const Image&) {
  throw request_error("a page makes PNG files of its window only: take the program on a desktop");
}

void write_png(const Image& image, const std::filesystem::path& path) {
  download_picture(image.rgba.data(), image.size.width, image.size.height, path.filename().c_str());
}

}  // namespace shardlens
