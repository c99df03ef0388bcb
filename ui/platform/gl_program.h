// A linked OpenGL program made of two shaders in shaders/, one file for each stage. If a shader has a fault,
// the error names the file and quotes the compiler.
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
  // This and all functions below need a current OpenGL context. Throws Error if a stage does not compile.
  GlProgram(const EmbeddedFile& vertex, const EmbeddedFile& fragment);
  ~GlProgram();
  GlProgram(const GlProgram&) = delete;
  GlProgram& operator=(const GlProgram&) = delete;

  GLuint id() const { return id_; }

  // Returns the location of a uniform; throws Error if the program has none with that name.
  GLint uniform(const char* name) const;

 private:
  GLuint id_ = 0;
};

}  // namespace shardlens
