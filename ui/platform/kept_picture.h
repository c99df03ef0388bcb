// A framebuffer of our own that keeps the picture from frame to frame, so that only what changed is drawn. (A
// window's own buffer may hold anything after it was shown.) Needs a current OpenGL context.
#pragma once

#include "ui/platform/gl.h"
#include "ui/platform/image.h"

namespace shardlens {

class KeptPicture {
 public:
  // The order of a pixel's bytes. A window's copies one without turning every pixel; but in it llvmpipe draws
  // some rectangles by a shortcut that rounds otherwise, by 1 of 255, so a picture that is to be the same
  // bytes wherever it lies is kept in the order of files.
  enum class Bytes { OfWindows, OfFiles };

  explicit KeptPicture(Bytes bytes);
  ~KeptPicture();
  KeptPicture(const KeptPicture&) = delete;
  KeptPicture& operator=(const KeptPicture&) = delete;

  // What was in it is lost. Throws a request Error that names the possible sizes for an impossible one.
  void allocate(PixelSize size);
  PixelSize size() const { return size_; }

  // Drawing and reading go here from now on.
  void bind() const;
  // Copies the whole of it into the window's buffer, which must be as large.
  void copy_to_window() const;

 private:
  Bytes bytes_;
  GLuint framebuffer_ = 0, colour_ = 0;
  PixelSize size_;
};

}  // namespace shardlens
