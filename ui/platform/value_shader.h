// Draws heatmaps by a fragment shader (shaders/heatmap.*.glsl). A texture then holds values, one float a
// texel, and everything that a colour depends on is in the vertices: another colour scale uploads nothing,
// and a changed scale is a changed vertex for what compares frames (changes.h). A heatmap is drawn with
// AddImage() like every picture; draw_values() finds the commands that show values and switches the program
// once for each run of them.
#pragma once

#include <imgui.h>

#include <memory>
#include <optional>

#include "ui/platform/gl_program.h"
#include "ui/theme/colour_scale.h"

namespace shardlens {

class ValueShader {
 public:
  /// Of a block of 2^rows x 2^cols texels only the first is drawn. A block begins at a multiple of its size
  /// in the texture. At most 2^3.
  struct Thinning {
    int rows = 0, cols = 0;
  };

  /// This and all functions below need a current OpenGL context. Throws Error if a shader does not compile.
  ValueShader();
  ~ValueShader();
  ValueShader(const ValueShader&) = delete;
  ValueShader& operator=(const ValueShader&) = delete;

  /// The shader of the current Dear ImGui context; null: the processor makes the colours.
  static ValueShader* current();

  /// The name by which AddImage() draws a texture of values.
  static ImTextureID name_of(unsigned texture);
  /// The colour with which AddImage() draws it.
  static ImU32 look(ui::ColourScale scale, Thinning thinning, float opacity);

  /// Inserts the switches of the program. Call it between ImGui::Render() and the renderer, after commands
  /// were cut. The data must be drawn before this object ends.
  void draw_values(ImDrawData& data);

 private:
  void begin();
  void end() const;

  GlProgram program_;
  GLint projection_;
  GLuint shades_ = 0;
  GLint usual_program_ = 0;  ///< of Dear ImGui's renderer
};

/// Decides who makes the colours: `wanted`; if there is none, the environment variable SHARDLENS_HEATMAPS;
/// and if there is none, the shader unless the renderer is software, where it is not faster (TRIED.md). Null:
/// the processor. Throws Error for an unknown word, and if the shader is wanted and does not compile.
std::unique_ptr<ValueShader> make_value_shader(std::optional<ui::ColoursBy> wanted);

}  // namespace shardlens
