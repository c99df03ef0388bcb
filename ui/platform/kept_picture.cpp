// One colour buffer and nothing else: neither depth nor stencil is drawn with.
#include "ui/platform/kept_picture.h"

#include <fmt/format.h>

#include "engine/config/error.h"

namespace shardlens {

KeptPicture::KeptPicture() {
  glGenFramebuffers(1, &framebuffer_);
  glGenRenderbuffers(1, &colour_);
}

KeptPicture::~KeptPicture() {
  glDeleteRenderbuffers(1, &colour_);
  glDeleteFramebuffers(1, &framebuffer_);
}

void KeptPicture::allocate(PixelSize size) {
  size_ = size;
  glBindRenderbuffer(GL_RENDERBUFFER, colour_);
  glRenderbufferStorage(GL_RENDERBUFFER, GL_RGBA8, size.width, size.height);
  bind();
  glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, colour_);
  if (size.width < 1 || size.height < 1 ||
      glCheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE) {
    GLint largest = 0;
    glGetIntegerv(GL_MAX_RENDERBUFFER_SIZE, &largest);
    throw request_error(
        fmt::format("a picture of {}x{} pixels cannot be drawn; width and height must lie between 1 and {}",
                    size.width, size.height, largest));
  }
}

void KeptPicture::bind() const {
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer_);
}

void KeptPicture::copy_to_window() const {
  glBindFramebuffer(GL_READ_FRAMEBUFFER, framebuffer_);
  glBindFramebuffer(GL_DRAW_FRAMEBUFFER, 0);
  glBlitFramebuffer(0, 0, size_.width, size_.height, 0, 0, size_.width, size_.height, GL_COLOR_BUFFER_BIT,
                    GL_NEAREST);
}

}  // namespace shardlens
