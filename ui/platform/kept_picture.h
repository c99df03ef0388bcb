// Our own framebuffer, which keeps the picture from frame to frame, so that only changes are drawn. (A
// window's own buffer may hold anything after it was shown.) Needs a current OpenGL context.
#pragma once

#include "ui/platform/gl.h"
#include "ui/platform/image.h"

namespace shardlens {

class KeptPicture {
 public:
  // The order of a pixel's bytes. OfWindows can be copied to a window without converting pixels. But with it
  // llvmpipe draws some rectangles by a shortcut that rounds differently, by 1 of 255. So a picture that must
  // have the same bytes everywhere uses OfFiles.
  enum class Bytes { OfWindows, OfFiles };

  explicit KeptPicture(Bytes bytes);
  ~KeptPicture();
  KeptPicture(const KeptPicture&) = delete;
  KeptPicture& operator=(const KeptPicture&) = delete;

  // The most pixels that a picture may have in each direction.
  static int most_pixels();
  // Sets the size; the old content is lost. For an impossible size throws a request Error that names the
  // possible ones.
  void allocate(PixelSize size);
  PixelSize size() const { return size_; }

  // Makes this the target of drawing and reading.
  void bind() const;
  // Copies the whole picture into the upper left corner of the window's buffer. A larger window is black
  // beside it.
  void copy_to_window(PixelSize window) const;

 private:
  Bytes bytes_;
  GLuint framebuffer_ = 0, colour_ = 0;
  PixelSize size_;
};

}  // namespace shardlens
