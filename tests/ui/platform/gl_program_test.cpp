// Shaders compile and link, and an error names the file.
#include "ui/platform/gl_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "ui/platform/platform.h"

namespace shardlens {
namespace gl_program_test {

constexpr EmbeddedFile vertex{"test.vert.glsl",
                              "void main() { gl_Position = vec4(0); }\n"};
constexpr EmbeddedFile fragment{"test.frag.glsl",
                                "uniform float scale;\nout vec4 colour;\n"
                                "void main() { colour = vec4(scale); }\n"};

class GlProgramTest : public ::testing::Test {
 protected:
  std::unique_ptr<Platform> platform_ = make_offscreen_platform({64, 64});
};

TEST_F(GlProgramTest, LinksAndKnowsItsUniforms) {
  const GlProgram program(vertex, fragment);
  EXPECT_GE(program.uniform("scale"), 0);
  EXPECT_THROW(program.uniform("missing"), Error);
}

TEST_F(GlProgramTest, AFaultNamesTheFileAndQuotesTheCompiler) {
  constexpr EmbeddedFile broken{"broken.frag.glsl", "void main() { nonsense = 1; }\n"};
  try {
    const GlProgram program(vertex, broken);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                ::testing::AllOf(::testing::HasSubstr("broken.frag.glsl"), ::testing::HasSubstr("nonsense")));
  }
}

}  // namespace gl_program_test
}  // namespace shardlens
