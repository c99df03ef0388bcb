// Packs a heatmap's look into a vertex colour, and switches between Dear ImGui's program and ours.
#include "ui/platform/value_shader.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cfloat>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "engine/base/error.h"

namespace shardlens {
namespace {

// Dear ImGui's renderer uses the lower half of a texture's name only, because OpenGL's names have 32 bits.
constexpr ImTextureID kOfValues = ImTextureID{1} << 32;

// Where the shader's inputs are. Dear ImGui's program has three inputs, at other places.
constexpr GLuint kPosition = 3, kPlace = 4, kLook = 5;

const void* offset(std::size_t bytes) {
  return reinterpret_cast<const void*>(bytes);
}

bool shows_values(const ImDrawCmd& command) {
  return command.TexRef._TexData == nullptr && (command.TexRef._TexID & kOfValues) != 0;
}

bool is_software_renderer() {
  const auto* name = reinterpret_cast<const char*>(glGetString(GL_RENDERER));
  const std::string_view renderer = name != nullptr ? name : "";
  return std::ranges::any_of(
      std::to_array<std::string_view>({"llvmpipe", "softpipe", "swrast", "SWR", "Software Rasterizer"}),
      [&](std::string_view one) { return renderer.find(one) != renderer.npos; });
}

}  // namespace

ValueShader::ValueShader()
    : program_(shader("heatmap.vert.glsl"), shader("heatmap.frag.glsl")),
      projection_(program_.uniform("projection")) {
  const ImVec4 nan = ImGui::ColorConvertU32ToFloat4(ui::kNotANumber);
  GLint usual = 0;
  glGetIntegerv(GL_CURRENT_PROGRAM, &usual);
  glUseProgram(program_.id());
  glUniform1i(program_.uniform("values"), 0);
  glUniform1i(program_.uniform("shades"), 1);
  glUniform4f(program_.uniform("not_a_number"), nan.x, nan.y, nan.z, nan.w);
  glUseProgram(static_cast<GLuint>(usual));

  constexpr ui::ColourMap maps[] = {ui::ColourMap::Signed, ui::ColourMap::Magnitude};
  constexpr auto count = static_cast<GLsizei>(std::tuple_size_v<ui::Shades>);
  glGenTextures(1, &shades_);
  glBindTexture(GL_TEXTURE_2D, shades_);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
  glPixelStorei(GL_UNPACK_ROW_LENGTH, 0);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, count, std::size(maps), 0, GL_RGBA, GL_UNSIGNED_BYTE, nullptr);
  for (const ui::ColourMap map : maps)
    glTexSubImage2D(GL_TEXTURE_2D, 0, 0, static_cast<int>(map), count, 1, GL_RGBA, GL_UNSIGNED_BYTE,
                    ui::shades(map).data());
}

ValueShader::~ValueShader() {
  glDeleteTextures(1, &shades_);
}

ValueShader* ValueShader::current() {
  if (ImGui::GetCurrentContext() == nullptr) return nullptr;
  return static_cast<ValueShader*>(ImGui::GetIO().BackendLanguageUserData);
}

ImTextureID ValueShader::name_of(unsigned texture) {
  return texture | kOfValues;
}

// From the highest bit: 8 of opacity, one of the map, two of the thinning of rows and two of columns, and 19
// of the limit: its exponent and the upper 11 bits of its fraction. So the limit is right to 1/4096, an
// eighth of a shade at the end of a scale. Opacity is where Dear ImGui expects it: it leaves out what has
// none.
ImU32 ValueShader::look(ui::ColourScale scale, Thinning thinning, float opacity) {
  const auto limit =
      static_cast<float>(scale.limit > 0 ? std::clamp<double>(scale.limit, FLT_MIN, FLT_MAX) : FLT_MAX);
  const std::uint32_t of_limit = std::min((std::bit_cast<std::uint32_t>(limit) + 0x800) >> 12, 0x7F7FFu);
  const auto of_opacity = static_cast<std::uint32_t>(255 * std::clamp(opacity, 0.0F, 1.0F));
  return of_opacity << 24 | static_cast<std::uint32_t>(scale.map) << 23 |
         static_cast<std::uint32_t>(thinning.rows) << 21 | static_cast<std::uint32_t>(thinning.cols) << 19 |
         of_limit;
}

void ValueShader::draw_values(ImDrawData& data) {
  const auto switched_by = [&](ImDrawCallback callback) {
    ImDrawCmd command;
    command.UserCallback = callback;
    command.UserCallbackData = this;
    return command;
  };
  const auto begins = [](const ImDrawList*, const ImDrawCmd* command) {
    static_cast<ValueShader*>(command->UserCallbackData)->begin();
  };
  const auto ends = [](const ImDrawList*, const ImDrawCmd* command) {
    static_cast<ValueShader*>(command->UserCallbackData)->end();
  };
  for (ImDrawList* list : data.CmdLists) {
    if (std::none_of(list->CmdBuffer.begin(), list->CmdBuffer.end(), shows_values)) continue;
    ImVector<ImDrawCmd> commands;
    commands.reserve(list->CmdBuffer.Size + 16);
    bool ours = false;
    for (const ImDrawCmd& command : list->CmdBuffer) {
      // Callbacks in between clear rectangles, for which the program does not matter.
      if (command.UserCallback == nullptr && shows_values(command) != ours) {
        ours = !ours;
        commands.push_back(switched_by(ours ? +begins : +ends));
      }
      commands.push_back(command);
    }
    if (ours) commands.push_back(switched_by(+ends));
    list->CmdBuffer.swap(commands);
  }
}

// In a draw callback: the renderer's vertices are bound.
void ValueShader::begin() {
  glGetIntegerv(GL_CURRENT_PROGRAM, &usual_program_);
  glUseProgram(program_.id());
  const ImDrawData& data = *ImGui::GetDrawData();
  // The same calculation as in Dear ImGui's renderer, so that edges are on the same pixels.
  const float left = data.DisplayPos.x, right = left + data.DisplaySize.x;
  const float top = data.DisplayPos.y, bottom = top + data.DisplaySize.y;
  const float projection[] = {2 / (right - left),
                              0,
                              0,
                              0,  //
                              0,
                              2 / (top - bottom),
                              0,
                              0,  //
                              0,
                              0,
                              -1,
                              0,  //
                              (right + left) / (left - right),
                              (top + bottom) / (bottom - top),
                              0,
                              1};
  glUniformMatrix4fv(projection_, 1, GL_FALSE, projection);
  glActiveTexture(GL_TEXTURE1);
  glBindTexture(GL_TEXTURE_2D, shades_);
  glActiveTexture(GL_TEXTURE0);
  glVertexAttribPointer(kPosition, 2, GL_FLOAT, GL_FALSE, sizeof(ImDrawVert),
                        offset(offsetof(ImDrawVert, pos)));
  glVertexAttribPointer(kPlace, 2, GL_FLOAT, GL_FALSE, sizeof(ImDrawVert), offset(offsetof(ImDrawVert, uv)));
  glVertexAttribIPointer(kLook, 1, GL_UNSIGNED_INT, sizeof(ImDrawVert), offset(offsetof(ImDrawVert, col)));
  for (const GLuint input : {kPosition, kPlace, kLook}) glEnableVertexAttribArray(input);
}

void ValueShader::end() const {
  for (const GLuint input : {kPosition, kPlace, kLook}) glDisableVertexAttribArray(input);
  glUseProgram(static_cast<GLuint>(usual_program_));
}

std::unique_ptr<ValueShader> make_value_shader(std::optional<ui::ColoursBy> wanted) {
  const char* named = std::getenv("SHARDLENS_HEATMAPS");
  if (!wanted && named != nullptr && *named != '\0')
    wanted = parse_word(ui::kColoursByWords, "SHARDLENS_HEATMAPS", named);
  if (wanted.value_or(is_software_renderer() ? ui::ColoursBy::Processor : ui::ColoursBy::Shader) ==
      ui::ColoursBy::Processor)
    return nullptr;
  try {
    return std::make_unique<ValueShader>();
  } catch (const Error& error) {
    if (wanted) throw;
    spdlog::warn("{}. The processor makes the heatmaps' colours, which are the same", error.what());
    return nullptr;
  }
}

}  // namespace shardlens
