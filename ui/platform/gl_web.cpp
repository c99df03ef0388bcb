// WebGL 2, which the browser links. Its colours have one order of bytes.
#include "ui/platform/gl.h"

namespace shardlens {

const char* const kShaderLanguage = "#version 300 es\n";
const char* const kShaderHead = "precision highp float;\nprecision highp int;\nprecision highp sampler2D;\n";
const GLenum kWindowFormat = GL_RGBA, kWindowType = GL_UNSIGNED_BYTE;
const char* const kOtherDriver = "another browser on this machine may be able to";

void load_gl(GlLoader) {}

}  // namespace shardlens
