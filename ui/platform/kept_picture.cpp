// The framebuffer has only a colour buffer, because drawing uses neither depth nor stencil.
#include "ui/platform/kept_picture.h"

#include <fmt/format.h>

#include "engine/base/error.h"

namespace shardlens {

KeptPicture::KeptPicture(Bytes bytes) : bytes_(bytes) {
  glGenFramebuffers(1, &framebuffer_);
  glGenTextures(1, &colour_);
  glBindTexture(GL_TEXTURE_2D, colour_);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);  // it has no mipmaps
}

KeptPicture::~KeptPicture() {
  glDeleteTextures(1, &colour_);
  glDeleteFramebuffers(1, &framebuffer_);
}

int KeptPicture::most_pixels() {
  GLint largest = 0;
  glGetIntegerv(GL_MAX_TEXTURE_SIZE, &largest);
  return largest;
}

void KeptPicture::allocate(PixelSize size) {
  size_ = size;
  const int largest = most_pixels();
  const auto possible = [&](int extent) { return extent >= 1 && extent <= largest; };
  bind();
  if (possible(size.width) && possible(size.height)) {
    glBindTexture(GL_TEXTURE_2D, colour_);
    const bool of_windows = bytes_ == Bytes::OfWindows;
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, size.width, size.height, 0, of_windows ? kWindowFormat : GL_RGBA,
                 of_windows ? kWindowType : GL_UNSIGNED_BYTE, nullptr);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, colour_, 0);
    if (glCheckFramebufferStatus(GL_FRAMEBUFFER) == GL_FRAMEBUFFER_COMPLETE) return;
  }
  throw request_error(
      fmt::format("cannot draw a picture of {}x{} pixels; width and height must be between 1 and {}",
                  size.width, size.height, largest));
}

void KeptPicture::bind() const {
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer_);
}

void KeptPicture::copy_to_window(PixelSize window) const {
  glBindFramebuffer(GL_READ_FRAMEBUFFER, framebuffer_);
  glBindFramebuffer(GL_DRAW_FRAMEBUFFER, 0);
  if (window != size_) {
    glClearColor(0, 0, 0, 1);
    glClear(GL_COLOR_BUFFER_BIT);
  }
  const int below = window.height - size_.height;  // OpenGL counts rows from the bottom
  glBlitFramebuffer(0, 0, size_.width, size_.height, 0, below, size_.width, window.height,
                    GL_COLOR_BUFFER_BIT, GL_NEAREST);
}

}  // namespace shardlens
