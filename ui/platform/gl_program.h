// A linked OpenGL program from two shaders of shaders/, one file a stage. A fault in a shader is an error
// that names the file and quotes the compiler.
#pragma once

#include <string_view>

#include "engine/config/assets.h"
#include "ui/platform/gl.h"

namespace shardlens {

// Everything in shaders/, by file name. Defined by the build.
std::span<const EmbeddedFile> embedded_shaders();

// The shader of shaders/`name`, for example shader("heatmap.frag.glsl").
EmbeddedFile shader(std::string_view name);

class GlProgram {
 public:
  // Needs a current OpenGL context, and so does everything below. Throws Error when a stage does not compile.
  GlProgram(const EmbeddedFile& vertex, const EmbeddedFile& fragment);
  ~GlProgram();
  GlProgram(const GlProgram&) = delete;
  GlProgram& operator=(const GlProgram&) = delete;

  GLuint id() const { return id_; }

  // The location of a uniform; throws Error when the program has none of that name.
  GLint uniform(const char* name) const;

 private:
  GLuint id_ = 0;
};

}  // namespace shardlens
