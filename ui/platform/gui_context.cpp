// Sets up Dear ImGui on a current OpenGL context, draws, and reads pixels back.
#include "ui/platform/gui_context.h"

#include <fmt/format.h>
#include <imgui.h>
#include <imgui_impl_opengl3.h>
#include <imgui_internal.h>
#include <implot.h>

#include <algorithm>
#include <span>
#include <utility>

#include "engine/base/error.h"
#include "ui/platform/joined_lists.h"

namespace shardlens {

namespace {

constexpr float kLeastClearedPixels = 4096;  // for smaller rectangles a clear costs more than it saves

std::string gl_text(GLenum name) {
  const GLubyte* text = glGetString(name);
  return text != nullptr ? reinterpret_cast<const char*>(text) : "unknown";
}

bool is_modifier(ImGuiKey key) {
  return (key & ImGuiMod_Mask_) != 0 || (key >= ImGuiKey_LeftCtrl && key <= ImGuiKey_RightSuper);
}

void update_textures() {
  for (ImTextureData* const texture : ImGui::GetPlatformIO().Textures)
    if (texture->Status != ImTextureStatus_OK) ImGui_ImplOpenGL3_UpdateTexture(texture);
}

/// Removes and returns the input that belongs to a later frame. A frame has all its key presses, but only the
/// final state of the modifiers. So a frame must end before a modifier that changes after a key press. Then
/// Ctrl+P within one frame is Ctrl+P even if Ctrl is released first, and P followed by Ctrl is not.
ImVector<ImGuiInputEvent> take_later_input() {
  ImVector<ImGuiInputEvent>& waiting = ImGui::GetCurrentContext()->InputEventsQueue;
  bool struck = false;
  int end = 0;
  for (; end < waiting.Size; ++end) {
    const ImGuiInputEvent& event = waiting[end];
    if (event.Type != ImGuiInputEventType_Key) continue;
    if (!is_modifier(event.Key.Key))
      struck = struck || event.Key.Down;
    else if (struck)
      break;
  }
  ImVector<ImGuiInputEvent> later;
  for (int i = end; i < waiting.Size; ++i) later.push_back(waiting[i]);
  waiting.resize(end);
  return later;
}

}  // namespace

GuiContext::GuiContext(GlLoader load, std::optional<ui::ColoursBy> colours_by) {
  load_gl(load);
  value_shader_ = make_value_shader(colours_by);
  IMGUI_CHECKVERSION();
  gui_ = ImGui::CreateContext();
  plots_ = ImPlot::CreateContext();
  make_current();
  ImGuiIO& io = ImGui::GetIO();
  io.BackendLanguageUserData = value_shader_.get();  // ValueShader::current() finds it
  io.ConfigFlags |= ImGuiConfigFlags_DockingEnable;
  io.IniFilename = nullptr;  // the application saves the layout itself
  fonts_ = add_fonts(*io.Fonts);
  joined_.emplace(ImGui::GetDrawListSharedData());
  ImGui::GetStyle().FontSizeBase = ui::kBodySize;
  ImGui_ImplOpenGL3_Init(kShaderLanguage);
  // At the first frame Dear ImGui would make its program itself, and draw with one that is none.
  if (ImGui_ImplOpenGL3_CreateDeviceObjects()) return;
  const std::string graphics = renderer();
  end();
  throw run_error(fmt::format(
      "the graphics driver ({}) cannot make the program that draws the studio: its reason is above; {}",
      graphics, kOtherDriver));
}

GuiContext::~GuiContext() {
  end();
}

void GuiContext::end() {
  make_current();
  joined_.reset();
  ImGui_ImplOpenGL3_Shutdown();
  ImPlot::DestroyContext(plots_);
  ImGui::DestroyContext(gui_);
}

void GuiContext::make_current() const {
  ImGui::SetCurrentContext(gui_);
  ImPlot::SetCurrentContext(plots_);
}

CurrentGui::CurrentGui()
    : gui_before_(ImGui::GetCurrentContext()), plots_before_(ImPlot::GetCurrentContext()) {}

CurrentGui::CurrentGui(const GuiContext& gui) : CurrentGui() {
  gui.make_current();
}

CurrentGui::~CurrentGui() {
  ImGui::SetCurrentContext(gui_before_);
  ImPlot::SetCurrentContext(plots_before_);
}

void GuiContext::begin_frame() {
  ImGui_ImplOpenGL3_NewFrame();
  const ImVector<ImGuiInputEvent> later = take_later_input();
  ImGui::NewFrame();
  for (const ImGuiInputEvent& event : later) ImGui::GetCurrentContext()->InputEventsQueue.push_back(event);
  // Every texture is drawn texel by pixel (glyphs at whole pixels, heatmaps as blocks), so no filter is
  // needed: the picture is sharper, and a software renderer reads one texel for a pixel instead of four.
  ImGui::GetBackgroundDrawList()->AddCallback(ImGui::GetPlatformIO().DrawCallback_SetSamplerNearest, nullptr);
}

void GuiContext::end_frame() {
  // Render() begins only one window, the list of panels of Ctrl+Tab. It needs a border to be visible in the
  // light theme.
  float& border = ImGui::GetStyle().WindowBorderSize;
  const float usual = std::exchange(border, 1.0F);
  ImGui::Render();
  border = usual;
}

void GuiContext::skip() {
  changes_.forget();
  update_textures();
}

int64_t GuiContext::draw(PixelSize size) {
  ImDrawData& data = *ImGui::GetDrawData();
  const ImVec4 ground = ImGui::GetStyleColorVec4(ImGuiCol_WindowBg);
  const ImU32 ground_colour = ImGui::ColorConvertFloat4ToU32(ground);
  const std::vector<PixelArea>& areas = changes_.find(data, ground_colour, size);
  int64_t pixels = 0;
  for (const PixelArea& area : areas) pixels += area.pixels();
  if (pixels == 0) {  // not even an empty upload, which a browser waits for
    update_textures();
    return 0;
  }
  if (pixels < int64_t{size.width} * size.height) draw_only(data, areas, size);
  glViewport(0, 0, size.width, size.height);
  glEnable(GL_SCISSOR_TEST);
  glClearColor(ground.x, ground.y, ground.z, 1.0F);
  for (const PixelArea& area : areas) {
    glScissor(area.left, size.height - area.bottom, area.right - area.left, area.bottom - area.top);
    glClear(GL_COLOR_BUFFER_BIT);
  }
  glDisable(GL_SCISSOR_TEST);
  clear_opaque_rectangles(data, ground_colour, kLeastClearedPixels, cleared_);
  if (value_shader_) value_shader_->draw_values(data);
  join_lists(data, *joined_);
  ImGui_ImplOpenGL3_RenderDrawData(&data);  // also updates textures
  return pixels;
}

Image GuiContext::read_pixels(PixelSize size) const {
  const auto row_bytes = 4 * static_cast<std::size_t>(size.width);
  Image image{size, std::vector<std::uint8_t>(row_bytes * static_cast<std::size_t>(size.height))};
  glPixelStorei(GL_PACK_ALIGNMENT, 1);
  glReadPixels(0, 0, size.width, size.height, GL_RGBA, GL_UNSIGNED_BYTE, image.rgba.data());
  // OpenGL's first row is the bottom one.
  const std::span<std::uint8_t> rows(image.rgba);
  for (int top = 0, bottom = size.height - 1; top < bottom; ++top, --bottom) {
    const auto upper = rows.subspan(row_bytes * static_cast<std::size_t>(top), row_bytes);
    const auto lower = rows.subspan(row_bytes * static_cast<std::size_t>(bottom), row_bytes);
    std::ranges::swap_ranges(upper, lower);
  }
  return image;
}

std::string GuiContext::renderer() const {
  return fmt::format("OpenGL {}, {}", gl_text(GL_VERSION), gl_text(GL_RENDERER));
}

}  // namespace shardlens
