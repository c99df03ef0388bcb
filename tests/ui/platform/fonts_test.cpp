// Characters of any text: those of the embedded fonts, those that a font of the system has, and those that
// have no shape.
#include "ui/platform/fonts.h"

#include <gtest/gtest.h>
#include <imgui.h>
#include <imgui_internal.h>

#include "ui/platform/other_characters.h"
#include "ui/platform/platform.h"
#include "ui/platform/system_faces.h"

namespace shardlens {
namespace fonts_test {

class Characters : public ::testing::Test {
 protected:
  Characters() { platform_->begin_frame(); }
  ~Characters() override { platform_->render(); }

  ImFontBaked& baked(ImFont* font, float size = 15) { return *font->GetFontBaked(size); }
  std::unique_ptr<Platform> platform_ = make_offscreen_platform({320, 240});
};

TEST_F(Characters, OfEveryScriptAreDrawn) {
  for (ImFont* font : {platform_->fonts().body, platform_->fonts().bold, platform_->fonts().italic,
                       platform_->fonts().mono}) {
    for (const ImWchar character : {0x4E2DU, 0x0645U, 0x1F600U, 0xAC00U, 0x0939U}) {
      const ImFontGlyph* glyph = baked(font).FindGlyphNoFallback(character);
      ASSERT_NE(glyph, nullptr) << std::hex << character << " is drawn as U+FFFD";
      EXPECT_TRUE(glyph->Visible) << std::hex << character;
      EXPECT_GT(glyph->AdvanceX, 3) << std::hex << character;
      EXPECT_LT(glyph->AdvanceX, 30) << std::hex << character;
    }
  }
}

TEST_F(Characters, ThatASystemsFontHasComeFromIt) {
  const FontFace* face = system_face_for(0x0645);
  if (face == nullptr) GTEST_SKIP() << "this system has no font with Arabic letters";
  EXPECT_FALSE(face->data.empty());
  EXPECT_EQ(system_face_for(0x0645), face) << "it is found again";
  // A letter of a script is narrower than the box with its number.
  EXPECT_LT(baked(platform_->fonts().body).FindGlyph(0x0645)->AdvanceX, 12);
  EXPECT_EQ(system_face_for(0x10FFFF), nullptr) << "no font has what is no character";
}

TEST_F(Characters, GrowWithTheSize) {
  ImFont* font = platform_->fonts().body;
  EXPECT_GT(baked(font, 30).FindGlyph(0x0645)->AdvanceX, baked(font, 15).FindGlyph(0x0645)->AdvanceX + 3);
}

TEST_F(Characters, ThatControlAreSpelled) {
  EXPECT_EQ(spelling_of(0x1B), "\\x1b");
  EXPECT_EQ(spelling_of(0x85), "\\x85");
  EXPECT_EQ(spelling_of(0x202E), "U+202E");
  EXPECT_EQ(spelling_of('a'), "");
  ImFont* font = platform_->fonts().body;
  const float letter = baked(font).FindGlyph('m')->AdvanceX;
  for (const ImWchar control : {0x07U, 0x1BU, 0x7FU, 0x85U, 0x202EU}) {
    const ImFontGlyph* glyph = baked(font).FindGlyphNoFallback(control);
    ASSERT_NE(glyph, nullptr) << std::hex << control;
    EXPECT_TRUE(glyph->Visible);
    EXPECT_GT(glyph->AdvanceX, letter) << std::hex << control << " is not spelled";
  }
}

TEST_F(Characters, ThatJoinOthersTakeNoRoom) {
  for (const ImWchar character : {0x200DU, 0xFE0FU}) {
    const ImFontGlyph* glyph = baked(platform_->fonts().body).FindGlyphNoFallback(character);
    ASSERT_NE(glyph, nullptr);
    EXPECT_EQ(glyph->AdvanceX, 0);
    EXPECT_FALSE(glyph->Visible);
  }
}

}  // namespace fonts_test
}  // namespace shardlens
