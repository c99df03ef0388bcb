// A graphics driver that cannot make a program is refused in words, before anything is drawn with it.
#include "ui/platform/gui_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imgui.h>

#include <cstring>

#include "engine/base/error.h"
#include "ui/platform/platform.h"

/// Of EGL, whose header does not bear the macros that OpenGL's leave behind.
extern "C" GLADapiproc eglGetProcAddress(const char* name);

namespace shardlens {
namespace gui_context_test {

/// Of every program: it is not linked.
void says_not_linked(GLuint, GLenum, GLint* out) {
  *out = GL_FALSE;
}

GLADapiproc without_links(const char* name) {
  if (std::strcmp(name, "glGetProgramiv") == 0) return reinterpret_cast<GLADapiproc>(&says_not_linked);
  return eglGetProcAddress(name);
}

TEST(GuiContext, AShaderThatDoesNotLinkIsAnErrorWithItsRemedy) {
  const auto platform = make_offscreen_platform({64, 64});
  ImGuiContext* const before = ImGui::GetCurrentContext();
  {
    const CurrentGui stays;
    try {
      const GuiContext refused(&without_links);
      ADD_FAILURE() << "it would draw with a program that is none";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("LIBGL_ALWAYS_SOFTWARE=1"));
    }
  }
  gladLoadGL(&eglGetProcAddress);
  EXPECT_EQ(ImGui::GetCurrentContext(), before);
  platform->begin_frame();
  platform->render();
}

}  // namespace gui_context_test
}  // namespace shardlens
