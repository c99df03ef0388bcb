// Compiles and links shaders.
#include "ui/platform/gl_program.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "engine/base/error.h"

namespace shardlens {

namespace {

// One compiled stage, deleted once the program is linked.
class Stage {
 public:
  Stage(GLenum kind, const EmbeddedFile& file) : id_(glCreateShader(kind)) {
    const char* const texts[] = {kShaderLanguage, kShaderHead, file.contents.data()};
    const GLint lengths[] = {-1, -1, static_cast<GLint>(file.contents.size())};  // -1: up to its end
    glShaderSource(id_, 3, texts, lengths);
    glCompileShader(id_);
    GLint compiled = GL_FALSE;
    glGetShaderiv(id_, GL_COMPILE_STATUS, &compiled);
    if (compiled == GL_TRUE) return;
    std::string log(2048, '\0');
    GLsizei written = 0;
    glGetShaderInfoLog(id_, static_cast<GLsizei>(log.size()), &written, log.data());
    log.resize(static_cast<std::size_t>(written));
    glDeleteShader(id_);
    throw run_error(fmt::format("shader {} does not compile: {}", file.name, log));
  }
  ~Stage() { glDeleteShader(id_); }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  GLuint id() const { return id_; }

 private:
  GLuint id_;
};

}  // namespace

EmbeddedFile shader(std::string_view name) {
  return {name, find_embedded(embedded_shaders(), name)};
}

GlProgram::GlProgram(const EmbeddedFile& vertex, const EmbeddedFile& fragment) {
  const Stage vertex_stage(GL_VERTEX_SHADER, vertex);
  const Stage fragment_stage(GL_FRAGMENT_SHADER, fragment);
  id_ = glCreateProgram();
  glAttachShader(id_, vertex_stage.id());
  glAttachShader(id_, fragment_stage.id());
  glLinkProgram(id_);
  GLint linked = GL_FALSE;
  glGetProgramiv(id_, GL_LINK_STATUS, &linked);
  if (linked == GL_TRUE) return;
  std::string log(2048, '\0');
  GLsizei written = 0;
  glGetProgramInfoLog(id_, static_cast<GLsizei>(log.size()), &written, log.data());
  log.resize(static_cast<std::size_t>(written));
  glDeleteProgram(std::exchange(id_, 0));
  throw run_error(fmt::format("shaders {} and {} do not link: {}", vertex.name, fragment.name, log));
}

GlProgram::~GlProgram() {
  glDeleteProgram(id_);
}

GLint GlProgram::uniform(const char* name) const {
  const GLint location = glGetUniformLocation(id_, name);
  if (location < 0) throw run_error(fmt::format("the shader program has no uniform {}", name));
  return location;
}

}  // namespace shardlens
