// OpenGL 3.3 core, by glad.
#include <fmt/format.h>

#include "engine/base/error.h"
#include "ui/platform/gl.h"

namespace shardlens {

const char* const kShaderLanguage = "#version 330 core\n";
const char* const kShaderHead = "";
const GLenum kWindowFormat = GL_BGRA, kWindowType = GL_UNSIGNED_INT_8_8_8_8_REV;
const char* const kOtherDriver = "Mesa's software renderer can (set LIBGL_ALWAYS_SOFTWARE=1)";

void load_gl(GlLoader load) {
  const int version = gladLoadGL(load);
  if (GLAD_VERSION_MAJOR(version) * 10 + GLAD_VERSION_MINOR(version) >= 33) return;
  throw run_error(fmt::format("the graphics driver has OpenGL {}.{}, but the studio needs 3.3; {}",
                              GLAD_VERSION_MAJOR(version), GLAD_VERSION_MINOR(version), kOtherDriver));
}

}  // namespace shardlens
