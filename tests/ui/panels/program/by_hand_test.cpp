// A simulated user on the page "by hand": clicks and keys fill the matrices, and the page shows what the two
// ranks then hold.
#include <gmock/gmock.h>
#include <imgui.h>
#include <imgui_internal.h>

#include "engine/runtime/snapshot.h"
#include "tests/ui/studio_harness.h"
#include "ui/lesson/lesson_view.h"
#include "ui/lesson/pages.h"
#include "ui/panels/program/by_hand_view.h"
#include "ui/panels/program/program_view.h"

namespace shardlens::ui {
namespace by_hand_page_test {

using lab::HandOperand;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ByHandPage : public ::testing::Test {
 protected:
  void open(PixelSize size = {1920, 1080}) {
    harness_.reset();  // two studios at a time would share what the library holds once
    harness_ = std::make_unique<StudioHarness>(size);
    harness_->wait_until_at_rest();
    show_page(harness_->view(), "program", "by-hand");
    settle();
  }
  /// Draws until the run of what is typed is shown.
  void settle() {
    harness_->draw_frames(4);
    ASSERT_TRUE(harness_->draw_until([&] {
      const auto& run = harness_->view().of<HandRuns>().shown();
      return run && run->operands == view().form.operands && run->choice == view().form.choice;
    }));
  }
  void perform(const std::function<void(ImGuiTestContext&)>& steps) {
    harness_->perform(steps);
    settle();
  }
  /// Clicks a cell: its id is in one of the page's children.
  void click_cell(HandOperand operand, int row, int col) {
    const std::string id =
        "**/" + lab::to_string(operand) + "/" + std::to_string(row) + "," + std::to_string(col);
    perform([&](ImGuiTestContext& person) { person.ItemClick(("//Program/" + id).c_str()); });
  }
  void press(ImGuiKeyChord key, int times = 1) {
    perform([&](ImGuiTestContext& person) { person.KeyPress(key, times); });
  }
  void type(const char* text) {
    perform([&](ImGuiTestContext& person) { person.KeyChars(text); });
  }
  void paste(const char* text) {
    perform([&](ImGuiTestContext& person) {
      ImGui::SetClipboardText(text);
      person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_V);
    });
  }

  ByHandView& view() { return harness_->view().of<ByHandView>(); }
  int at(HandOperand operand, int row, int col) { return view().form.operands.at(operand, row, col); }
  std::string words() {
    std::string all;
    for (const mark::Words& words : words_on_screen(*harness_)) all += words.text + "\n";
    return all;
  }
  /// What a rank holds at a place of a tensor.
  std::optional<double> held(const std::string& tensor, int rank, int row, int col) {
    const lab::HandRun& run = *harness_->view().of<HandRuns>().shown();
    for (const Tensor& candidate : run.program().tensors)
      if (candidate.name == tensor) return run.of(candidate.id).ranks[static_cast<size_t>(rank)].at(row, col);
    return std::nullopt;
  }

  std::unique_ptr<StudioHarness> harness_;
};

TEST_F(ByHandPage, ATypedNumberChangesTheResult) {
  open();
  perform([](ImGuiTestContext& person) {
    person.ItemClick("//Program/numbers/identity");
    person.ItemClick("//Program/activation/none: G = H");
  });
  EXPECT_EQ(held("mlp.proj.out", 0, 1, 1), 1);
  click_cell(HandOperand::X, 1, 1);
  type("-7");
  EXPECT_EQ(at(HandOperand::X, 1, 1), -7);
  EXPECT_EQ(held("mlp.proj.out", 0, 1, 1), -7);
  EXPECT_THAT(words(), AllOf(HasSubstr("\n\u22127\n"), HasSubstr("Every number is that of one rank.")));
}

TEST_F(ByHandPage, AMistakesFirstWrongNumberIsWrittenOut) {
  open();
  view().form.choice = {.fc = Cut::Row, .proj = Cut::Column, .mistake = Fault::GeluOnPartial};
  settle();
  EXPECT_THAT(words(), HasSubstr("G, row "));
  EXPECT_THAT(words(), HasSubstr("wrong by"));
  view().form.choice.mistake.reset();
  settle();
  EXPECT_THAT(words(), Not(HasSubstr("G, row ")));
}

TEST_F(ByHandPage, ALessonsWrongNumbersAreInView) {
  open({1280, 720});
  harness_->view().set_lecture(true);
  harness_->studio().open_lesson("what-a-sum-allows", 0);
  ASSERT_TRUE(harness_->draw_until([&] { return harness_->studio().lesson_is_settled(); }));
  const auto& scenes = harness_->studio().lesson().snapshot()->lesson->scenes;
  for (size_t i = 0; i < scenes.size(); ++i)
    if (scenes[i].state.page == "by-hand") harness_->studio().show_scene(static_cast<int>(i));
  ASSERT_TRUE(harness_->draw_until([&] { return harness_->studio().lesson_is_settled(); }));
  settle();
  harness_->draw_frames(4);
  const ImGuiWindow* const page = window_with("Program/page");
  ASSERT_NE(page, nullptr);
  bool seen = false;
  for (const mark::Words& words : words_on_screen(*harness_))
    seen |= words.text == "G = GeLU(H)" && words.at.y > page->InnerRect.Min.y - 1 &&
            words.at.y < page->InnerRect.Max.y - 60;
  EXPECT_TRUE(seen);
}

TEST_F(ByHandPage, KeysGoFromCellToCell) {
  open();
  perform([](ImGuiTestContext& person) { person.ItemClick("//Program/numbers/ones"); });
  const Tab tab = harness_->view().tab;
  click_cell(HandOperand::X, 0, 2);
  type("2");
  press(ImGuiKey_Tab);
  type("3");
  press(ImGuiKey_Tab);  // to the next row
  type("4");
  press(ImGuiKey_Enter);
  type("5");
  press(ImGuiKey_RightArrow);
  press(ImGuiKey_UpArrow);
  type("6");
  press(ImGuiMod_Shift | ImGuiKey_Tab, 5);  // before the first cell of all is the last one
  type("8");
  EXPECT_EQ(at(HandOperand::X, 0, 2), 2);
  EXPECT_EQ(at(HandOperand::X, 0, 3), 3);
  EXPECT_EQ(at(HandOperand::X, 1, 0), 4);
  EXPECT_EQ(at(HandOperand::X, 2, 0), 5);
  EXPECT_EQ(at(HandOperand::X, 1, 1), 6);
  EXPECT_EQ(at(HandOperand::X, 0, 0), 8);
  press(ImGuiMod_Shift | ImGuiKey_Tab);
  type("9");
  EXPECT_EQ(at(HandOperand::Dy, 3, 3), 9);
  press(ImGuiKey_Delete);
  EXPECT_EQ(at(HandOperand::Dy, 3, 3), 0);
  press(ImGuiKey_Home);
  type("6");
  EXPECT_EQ(at(HandOperand::Dy, 3, 0), 6);
  press(ImGuiKey_Escape);
  EXPECT_FALSE(view().cell);
  EXPECT_EQ(harness_->view().tab, tab) << "no key was a command";
}

TEST_F(ByHandPage, AClickElsewhereGivesTheKeysBack) {
  open();
  click_cell(HandOperand::X, 0, 0);
  perform([](ImGuiTestContext& person) { person.ItemClick("//Program/activation/none: G = H"); });
  EXPECT_FALSE(view().cell);
  const lab::HandOperands before = view().form.operands;
  type("7");
  EXPECT_EQ(view().form.operands, before);
}

TEST_F(ByHandPage, ABadNumberIsRefusedAndSaysWhatWorks) {
  open();
  click_cell(HandOperand::Wfc, 0, 0);
  const int before = at(HandOperand::Wfc, 0, 0);
  for (const char* bad : {"12", "\u221213", "4x", "x"}) {
    type(bad);
    EXPECT_EQ(at(HandOperand::Wfc, 0, 0), before) << bad << ": nor does its beginning stay";
    EXPECT_THAT(words(), HasSubstr("type a whole number from \u22129 to 9")) << bad;
  }
  press(ImGuiKey_Tab);
  type("3");
  EXPECT_EQ(at(HandOperand::Wfc, 0, 1), 3);
  EXPECT_THAT(words(), Not(HasSubstr("type a whole number")));
}

TEST_F(ByHandPage, RowsArePasted) {
  open();
  click_cell(HandOperand::Dy, 1, 1);
  paste("1\t2\t3\n4\t5\t\u22126\n");
  EXPECT_EQ(at(HandOperand::Dy, 1, 3), 3);
  EXPECT_EQ(at(HandOperand::Dy, 2, 3), -6);
  const lab::HandOperands before = view().form.operands;
  paste("1 2 3 4");
  EXPECT_EQ(view().form.operands, before);
  EXPECT_THAT(words(), HasSubstr("4 numbers from column 1 on do not fit into dY"));
}

TEST_F(ByHandPage, AMatrixIsCopiedAndPastedIntoAnother) {
  open();
  perform([](ImGuiTestContext& person) {  // the clipboard of a scripted person lasts as long as the script
    person.ItemClick("//Program/**/Wfc/2,2");
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_C);
    person.ItemClick("//Program/**/Wproj/0,0");
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_V);
  });
  for (int row = 0; row < 4; ++row)
    for (int col = 0; col < 4; ++col)
      EXPECT_EQ(at(HandOperand::Wproj, row, col), at(HandOperand::Wfc, row, col));
}

TEST_F(ByHandPage, ATypedNumberIsUndoneAndDoneAgain) {
  open();
  const Settings settings = harness_->snapshot().settings;
  const int before = at(HandOperand::X, 2, 0);
  click_cell(HandOperand::X, 2, 0);
  type("-9");
  EXPECT_EQ(at(HandOperand::X, 2, 0), -9);
  press(ImGuiMod_Ctrl | ImGuiKey_Z);
  EXPECT_EQ(at(HandOperand::X, 2, 0), before);
  press(ImGuiMod_Ctrl | ImGuiKey_Y);
  EXPECT_EQ(at(HandOperand::X, 2, 0), -9);
  EXPECT_EQ(harness_->snapshot().settings, settings);
}

TEST_F(ByHandPage, AClickedNumberIsWrittenOut) {
  open();
  perform([](ImGuiTestContext& person) {
    person.ItemClick("//Program/Wfc/by rows");
    person.ItemClick("//Program/Wproj/by columns");
  });
  EXPECT_THAT(words(), AllOf(HasSubstr("H', row 0, column 0"), HasSubstr("1·2 + 0·0 = 2"),
                             HasSubstr("GeLU(2 + 1) + GeLU(\u22122) ≈ 2.95"),
                             HasSubstr("GeLU(2 + 1 \u2212 2) ≈ 0.84")));
  perform([](ImGuiTestContext& person) {
    const ImRect matrix = person.ItemInfo("//Program/**/mlp.fc.out/rank 1").RectFull;
    person.MouseMoveToPos(
        {matrix.Min.x + 0.6f * matrix.GetWidth(), matrix.Min.y + 0.3f * matrix.GetHeight()});
    person.MouseClick();
  });
  EXPECT_THAT(words(), AllOf(HasSubstr("H, row 1, column 2"), HasSubstr("1 + 2 = 3")));
  press(ImGuiKey_DownArrow);
  EXPECT_THAT(words(), HasSubstr("H, row 2, column 2"));
}

TEST_F(ByHandPage, AMistakeIsPlantedAndUnderlined) {
  open();
  EXPECT_THAT(words(), HasSubstr("Every number is that of one rank."));
  perform([](ImGuiTestContext& person) { person.ItemClick("//Program/mistake/bias on every rank"); });
  EXPECT_EQ(view().form.choice.mistake, Fault::BiasBeforeReduction);
  EXPECT_THAT(words(), HasSubstr("Wrong from the step \"Y = Z + b\" on"));
  perform([](ImGuiTestContext& person) {
    const ImRect matrix = person.ItemInfo("//Program/**/mlp.proj.out/rank 0").RectFull;
    person.MouseMoveToPos(
        {matrix.Min.x + 0.4f * matrix.GetWidth(), matrix.Min.y + 0.1f * matrix.GetHeight()});
    person.MouseClick();
  });
  EXPECT_THAT(words(), HasSubstr("wrong by 2")) << "b is 2 there, and counts twice";
  perform([](ImGuiTestContext& person) { person.ItemClick("//Program/mistake/GeLU before the sum"); });
  EXPECT_EQ(view().form.choice.mistake, Fault::BiasBeforeReduction) << "not possible with these cuts";
  EXPECT_THAT(words(), HasSubstr("needs a row-parallel product with GeLU applied to its sum"));
  perform([](ImGuiTestContext& person) { person.ItemClick("//Program/Wproj/whole"); });
  EXPECT_FALSE(view().form.choice.mistake) << "the other cuts have no place for it";
}

TEST_F(ByHandPage, ItIsFoundInThePaletteAndSurvivesARecording) {
  open();
  click_cell(HandOperand::X, 0, 0);
  type("5");
  harness_->view().of<ProgramView>().page = ProgramPage::Steps;
  harness_->studio().open_recording("gallery:late-rank");
  ASSERT_TRUE(harness_->draw_until([&] { return harness_->studio().replayed().is_open(); }));
  ask_palette(*harness_, "example by hand");
  EXPECT_EQ(harness_->view().of<ProgramView>().page, ProgramPage::ByHand);
  EXPECT_EQ(at(HandOperand::X, 0, 0), 5);
  click_cell(HandOperand::X, 0, 0);
  type("6");
  EXPECT_EQ(at(HandOperand::X, 0, 0), 6);
}

// In a lesson the page is narrow, and in a lecture it is low. Everything is then reached by scrolling.
TEST_F(ByHandPage, ANarrowPageHasOperandsAndSteps) {
  for (const bool lecture : {false, true}) {
    open(lecture ? PixelSize{1280, 720} : PixelSize{700, 600});
    harness_->view().set_lecture(lecture);
    settle();
    EXPECT_THAT(words(), AllOf(HasSubstr("\nX\n"), HasSubstr("Replicated")));
    click_cell(HandOperand::Wproj, 3, 3);
    type("7");
    EXPECT_EQ(at(HandOperand::Wproj, 3, 3), 7);
    perform([&](ImGuiTestContext& person) {
      const ImGuiWindow* const part = window_with(lecture ? "/steps_" : "/page_");
      person.MouseMoveToPos(part->Rect().GetCenter());
      person.MouseWheelY(-60);
      person.Yield(2);
      person.ItemClick("//Program/**/grad.X/rank 1");
    });
    EXPECT_THAT(words(), HasSubstr("dX, row"));
  }
}

}  // namespace by_hand_page_test
}  // namespace shardlens::ui
