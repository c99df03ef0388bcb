// A page lets the browser's canvas make PNG files, which takes the browser a moment. It has no encoder of its
// own.
#include <emscripten/emscripten.h>

#include "engine/base/error.h"
#include "ui/platform/image.h"

namespace shardlens {
namespace {

EM_JS(void, download_picture, (const void* rgba, int width, int height, const char* name), {
  const canvas = document.createElement('canvas'), file = UTF8ToString(name);
  canvas.width = width;
  canvas.height = height;
  const pixels = new Uint8ClampedArray(HEAPU8.slice(rgba, rgba + 4 * width * height).buffer);
  for (let i = 3; i < pixels.length; i += 4) pixels[i] = 255;  // whatever blending has left in it
  canvas.getContext('2d').putImageData(new ImageData(pixels, width, height), 0, 0);
  canvas.toBlob(blob = > Module.download(file, blob), 'image/png');
});

}  // namespace

std::vector<std::uint8_t> encode_png(const Image&) {
  throw request_error("a page makes PNG files of its window only: take the program on a desktop");
}

void write_png(const Image& image, const std::filesystem::path& path) {
  download_picture(image.rgba.data(), image.size.width, image.size.height, path.filename().c_str());
}

}  // namespace shardlens
