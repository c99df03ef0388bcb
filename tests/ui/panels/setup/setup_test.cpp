// A simulated user drives Setup: each choice reaches the engine, and a refused choice offers a way that
// works.
#include "ui/panels/setup/setup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imgui_internal.h>

#include <algorithm>

#include "engine/runtime/snapshot.h"
#include "tests/ui/studio_harness.h"
#include "ui/panels/bar/bar_chips.h"
#include "ui/stage/rows.h"
#include "ui/widgets/slider_stops.h"

namespace shardlens::ui {
namespace setup_test {

using ::testing::HasSubstr;

const Settings& settled(StudioHarness& harness) {
  harness.wait_until_at_rest();
  return harness.snapshot().settings;
}

TEST(Setup, ADraggedSliderStopsAtASensibleSize) {
  StudioHarness harness;
  settled(harness);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Setup/Batch/slider"); });
  EXPECT_EQ(settled(harness).batch, value_at(batch_stops(), 0.5));
  EXPECT_EQ(harness.snapshot().state, RunState::Done) << harness.snapshot().message;
}

TEST(Setup, HiddenTakesTheMlpAlongAndStaysDivisible) {
  StudioHarness harness;
  settled(harness);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Setup/Hidden/slider"); });
  const Model& model = settled(harness).model;
  EXPECT_NE(model.hidden, 96);
  EXPECT_EQ(model.hidden % model.heads, 0);
  EXPECT_EQ(model.ffn, 4 * model.hidden);
  EXPECT_EQ(harness.snapshot().state, RunState::Done) << harness.snapshot().message;
}

// The norm's place is chosen, run, named in the undo, and taken back.
TEST(Setup, TheNormsPlaceIsChosenRunAndUndone) {
  StudioHarness harness;
  settled(harness);
  const Settings before = settled(harness);
  ASSERT_EQ(before.model.norm, NormPlacement::Pre);
  const std::shared_ptr<const Plan> planned = harness.snapshot().plan;
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Setup/LayerNorm/choice");
    person.ItemClick("//$FOCUSED/after the sum (post)");
  });
  EXPECT_EQ(settled(harness).model.norm, NormPlacement::Post);
  EXPECT_EQ(harness.snapshot().state, RunState::Done) << harness.snapshot().message;
  EXPECT_NE(harness.snapshot().plan->program.steps.front().op, planned->program.steps.front().op)
      << "the layer begins with a product, not with a norm";
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_Z); });
  EXPECT_EQ(settled(harness), before);
  harness.perform([](ImGuiTestContext& person) { person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_Y); });
  EXPECT_EQ(settled(harness).model.norm, NormPlacement::Post);
  EXPECT_THAT(harness.view().told, HasSubstr("post-LN"));
}

TEST(Setup, APartWithoutNormsOffersNoPlaceForThem) {
  Settings mlp = small_settings();
  mlp.block = Block::Mlp;
  StudioHarness harness({1920, 1080}, mlp);
  settled(harness);
  harness.perform([](ImGuiTestContext& person) {
    EXPECT_FALSE(person.ItemExists("//Setup/LayerNorm/choice"));
    EXPECT_TRUE(person.ItemExists("//Setup/Part/choice"));
  });
}

TEST(Setup, AValueCanBeTyped) {
  StudioHarness harness;
  settled(harness);
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Setup/Sequence/##value");
    person.KeyCharsReplaceEnter("23");
  });
  EXPECT_EQ(settled(harness).seq, 23);
  EXPECT_EQ(harness.snapshot().plan->program.settings.seq, 23);
}

TEST(Setup, ATypedNumberIsReadWholeOrRefused) {
  StudioHarness harness;
  settled(harness);
  const auto type = [&](const char* text) {
    harness.perform([&](ImGuiTestContext& person) {
      person.ItemClick("//Setup/Sequence/##value");
      person.KeyCharsReplaceEnter(text);
    });
    return settled(harness).seq;
  };
  EXPECT_EQ(type("1,024"), 1024);
  EXPECT_EQ(type("2e1"), 20);
  EXPECT_EQ(type("12 tokens"), 20);
  harness.draw_frames(2);
  EXPECT_TRUE(is_shown("Message"));
}

TEST(Setup, TheMlpKeepsItsWidthBesideAHiddenSizeOfZero) {
  StudioHarness harness;
  const int64_t before = settled(harness).model.ffn;
  for (const char* hidden : {"0", "96"}) {
    harness.perform([&](ImGuiTestContext& person) {
      person.ItemClick("//Setup/Hidden/##value");
      person.KeyCharsReplaceEnter(hidden);
    });
    settled(harness);
  }
  EXPECT_EQ(settled(harness).model.ffn, before);
  EXPECT_EQ(harness.snapshot().state, RunState::Done) << harness.snapshot().message;
}

TEST(Setup, EscapeClosesAMenuAndChangesNothing) {
  StudioHarness harness;
  const Settings before = settled(harness);
  bool open = false, closed = false;
  harness.perform([&](ImGuiTestContext& person) {
    person.ItemClick("//Setup/dtype/choice");
    open = ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopup);
    person.KeyPress(ImGuiKey_Escape);
    closed = !ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopup);
  });
  EXPECT_TRUE(open);
  EXPECT_TRUE(closed);
  EXPECT_EQ(settled(harness), before);
}

TEST(Setup, AListLiesBesideItsRowWhole) {
  for (const PixelSize size : {PixelSize{1280, 720}, PixelSize{1920, 1080}}) {
    StudioHarness harness(size);
    settled(harness);
    harness.perform([&](ImGuiTestContext& person) {
      for (const char* row : {"//Setup/Model/choice", "//Setup/dtype/choice", "//Setup/Hardware/choice",
                              "//Setup/mlp.fc/cut/choice"}) {
        person.ItemClick(row);
        person.Yield(3);  // its size is known a frame after it opened
        const ImRect list = ImGui::GetCurrentContext()->OpenPopupStack.back().Window->Rect();
        EXPECT_FALSE(list.Overlaps(person.ItemInfo(row).RectFull)) << row;
        EXPECT_TRUE(ImRect({0, 0}, ImGui::GetMainViewport()->Size).Contains(list)) << row;
        person.KeyPress(ImGuiKey_Escape);
      }
    });
  }
}

TEST(Setup, AnImpossibleDegreeSaysWhyAndOneClickHelps) {
  StudioHarness harness;
  settled(harness);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Setup/T = 5"); });
  settled(harness);
  EXPECT_EQ(harness.snapshot().state, RunState::Refused);
  EXPECT_THAT(harness.snapshot().message, HasSubstr("12 heads"));
  EXPECT_TRUE(harness.snapshot().stale()) << "the old result stays, greyed";
  EXPECT_THAT(parity_chip(harness.snapshot(), Theme{}).text, HasSubstr("not yet compared"))
      << "and says nothing of these settings";
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Stage/refusal/try T = 6"); });
  EXPECT_EQ(settled(harness).tp, 6);
  EXPECT_EQ(harness.snapshot().state, RunState::Done) << harness.snapshot().message;
}

TEST(Setup, ARefusalMovesNoRowOfIt) {
  StudioHarness harness({1280, 720});
  settled(harness);
  const auto place = [&](const char* item) {
    ImVec2 found;
    harness.perform([&](ImGuiTestContext& person) { found = person.ItemInfo(item).RectFull.Min; });
    return found;
  };
  const ImVec2 before = place("//Setup/Heads/##value");
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Setup/T = 5"); });
  settled(harness);
  ASSERT_EQ(harness.snapshot().state, RunState::Refused);
  EXPECT_EQ(place("//Setup/Heads/##value").y, before.y);

  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Stage/refusal/try T = 6"); });
  EXPECT_EQ(settled(harness).tp, 6);
}

TEST(Setup, HeadsThatDoNotDivideRunOnRequest) {
  for (const auto& [offer, policy] :
       {std::pair{"//Stage/refusal/try run with uneven heads", HeadsPolicy::Uneven},
        {"//Stage/refusal/try pad with zero heads", HeadsPolicy::Padded}}) {
    StudioHarness harness;
    settled(harness);
    harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Setup/T = 5"); });
    settled(harness);
    ASSERT_EQ(harness.snapshot().state, RunState::Refused);
    harness.perform([offer](ImGuiTestContext& person) { person.ItemClick(offer); });
    EXPECT_EQ(settled(harness).tp, 5);
    EXPECT_EQ(harness.snapshot().settings.heads_policy, policy);
    ASSERT_EQ(harness.snapshot().state, RunState::Done) << harness.snapshot().message;
    EXPECT_TRUE(harness.snapshot().result->parity_summary.agrees);
  }
}

TEST(Setup, KeyHeadsAreShared) {
  StudioHarness harness;
  settled(harness);
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Setup/Key heads/##value");
    person.KeyCharsReplaceEnter("2");
  });
  EXPECT_EQ(settled(harness).model.kv_heads, 2);
  ASSERT_EQ(harness.snapshot().state, RunState::Done)
      << harness.snapshot().message;  // T = 4: each held by two
  EXPECT_TRUE(harness.snapshot().result->parity_summary.agrees);
}

TEST(Setup, TheWayBackFromARefusal) {
  StudioHarness harness;
  settled(harness);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Setup/T = 8"); });
  settled(harness);
  ASSERT_EQ(harness.snapshot().state, RunState::Refused);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Stage/refusal/try back to T = 4"); });
  EXPECT_EQ(settled(harness).tp, 4);
  EXPECT_EQ(harness.snapshot().state, RunState::Done);
}

TEST(Setup, APictureTakesClicksAndEachBringsTheNextCut) {
  StudioHarness harness;
  settled(harness);
  const std::pair<const char*, Cut Split::*> matrices[] = {{"attn.qkv", &Split::attn_qkv},
                                                           {"attn.proj", &Split::attn_proj},
                                                           {"mlp.fc", &Split::mlp_fc},
                                                           {"mlp.proj", &Split::mlp_proj}};
  for (const auto& [name, cut] : matrices) {
    for (int click = 0; click < 3; ++click) {
      const auto before = static_cast<int>(settled(harness).split.*cut);
      harness.perform([&](ImGuiTestContext& person) {
        person.ItemClick((std::string("//Setup/") + name + "/picture").c_str());
      });
      EXPECT_EQ(static_cast<int>(settled(harness).split.*cut), (before + 1) % 3) << name;
    }
  }
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Setup/Stream X/picture"); });
  EXPECT_EQ(settled(harness).split.norm, NormCut::Parallel);
  EXPECT_EQ(harness.snapshot().state, RunState::Done) << harness.snapshot().message;
}

TEST(Setup, OfAWholeModelEmbeddingAndLossTakeClicksToo) {
  Settings settings = small_settings();
  settings.block = Block::Model;
  settings.model.layers = 1;
  settings.model.vocab = 300;
  settings.tp = 2;
  StudioHarness harness({1920, 1080}, settings);
  settled(harness);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Setup/Embedding/picture"); });
  EXPECT_EQ(settled(harness).split.embedding, EmbeddingCut::Hidden);
  EXPECT_EQ(harness.snapshot().settings.split.name, "custom");
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Setup/Loss/picture"); });
  EXPECT_EQ(settled(harness).split.loss, LossForm::Gather);
  EXPECT_EQ(harness.snapshot().state, RunState::Done) << harness.snapshot().message;
  EXPECT_TRUE(harness.snapshot().result->parity_summary.agrees);
}

TEST(Setup, ACutOfOneMatrixMakesASplitOfItsOwn) {
  StudioHarness harness;
  settled(harness);
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Setup/mlp.fc/cut/choice");
    person.ItemClick("//$FOCUSED/row");
  });
  EXPECT_EQ(settled(harness).split.mlp_fc, Cut::Row);
  EXPECT_EQ(harness.snapshot().settings.split.name, "custom");
  ASSERT_EQ(harness.snapshot().state, RunState::Done) << harness.snapshot().message;
  EXPECT_TRUE(harness.snapshot().result->parity_summary.agrees);

  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Setup/Split/choice");
    person.ItemClick("//$FOCUSED/reversed");
  });
  EXPECT_EQ(settled(harness).split.attn_qkv, Cut::Row);
  EXPECT_EQ(harness.snapshot().settings.split.name, "reversed");
}

TEST(Setup, AChangeBuildsOnTheOneThatIsStillUnderWay) {
  StudioHarness harness;
  settled(harness);
  // Of two quick changes the first has been asked for, and has not arrived when the second is made.
  Settings first = harness.snapshot().settings;
  first.dtype = DType::Fp64;
  harness.view().wanted.sent(harness.snapshot(), first);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Setup/T = 2"); });
  const Settings& settings = settled(harness);
  EXPECT_EQ(settings.tp, 2);
  EXPECT_EQ(settings.dtype, DType::Fp64);
}

TEST(Setup, PartDtypeAndDegreeAreChosenOneAfterTheOther) {
  StudioHarness harness;
  settled(harness);
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Setup/T = 2");
    person.ItemClick("//Setup/Part/choice");
    person.ItemClick("//$FOCUSED/MLP alone");
    person.ItemClick("//Setup/dtype/choice");
    person.ItemClick("//$FOCUSED/fp64");
  });
  const Settings& settings = settled(harness);
  EXPECT_EQ(settings.tp, 2);
  EXPECT_EQ(settings.block, Block::Mlp);
  EXPECT_EQ(settings.dtype, DType::Fp64);
}

TEST(Setup, ReductionsRunBesideTheProducts) {
  StudioHarness harness;
  settled(harness);
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Setup/T = 2");
    person.ItemClick("//Setup/Reductions/choice");
    person.ItemClick("//$FOCUSED/overlapped, in 4 parts");
  });
  EXPECT_EQ(settled(harness).overlap_chunks, 4);
  const Snapshot& snapshot = harness.snapshot();
  ASSERT_EQ(snapshot.state, RunState::Done) << snapshot.message;
  const Program& program = snapshot.plan->program;
  const auto beside = std::count_if(program.steps.begin(), program.steps.end(),
                                    [](const Step& step) { return step.overlapped; });
  EXPECT_EQ(beside, 2 * 4 + 2) << "and the two input gradients' sums";
  // The parts' own operand is no input of the layer.
  for (const stage::Row& row : stage::rows_of(program)) {
    if (row.kind != stage::RowKind::Input) continue;
    EXPECT_FALSE(is_row_view(program, program.tensor(row.tensor))) << program.tensor(row.tensor).name;
  }
}

TEST(Setup, TheSeedIsTyped) {
  StudioHarness harness;
  settled(harness);
  harness.perform([](ImGuiTestContext& person) {
    person.ItemInput("//Setup/Seed/##value");
    person.KeyCharsReplaceEnter("77");
  });
  EXPECT_EQ(settled(harness).seed, 77u);
  harness.perform([](ImGuiTestContext& person) {
    person.ItemInput("//Setup/Seed/##value");
    person.KeyCharsReplaceEnter("-7");
  });
  EXPECT_EQ(settled(harness).seed, 77u);
}

TEST(Setup, AMissingWeightsFileIsNamed) {
  StudioHarness harness;
  settled(harness);
  harness.perform([](ImGuiTestContext& person) {
    person.ItemInput("//Setup/Weights/##path");
    person.KeyCharsReplaceEnter("/nowhere/model.safetensors");
  });
  settled(harness);
  EXPECT_NE(harness.snapshot().state, RunState::Done);
  EXPECT_THAT(harness.snapshot().message, HasSubstr("/nowhere/model.safetensors"));
}

TEST(Setup, ARankIsMadeLateAndOneClickEndsIt) {
  StudioHarness harness;
  settled(harness);
  harness.perform([](ImGuiTestContext& person) {
    person.ItemClick("//Setup/mlp.proj/show");
    person.ItemClick("//Setup/Who/choice");
    person.ItemClick("//$FOCUSED/rank 2");
    person.ItemClick("//Setup/Make late");
  });
  ASSERT_EQ(settled(harness).delays, (std::vector<Delay>{{2, "mlp.proj", 20}}));
  ASSERT_EQ(harness.snapshot().state, RunState::Done) << harness.snapshot().message;
  const Result& result = *harness.snapshot().result;
  ASSERT_EQ(result.late.size(), 1u);
  EXPECT_EQ(result.late[0].rank, 2);
  EXPECT_GE(result.late[0].held_seconds, 0.020);
  EXPECT_TRUE(result.parity_summary.agrees);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Bar/late"); });
  EXPECT_TRUE(settled(harness).delays.empty());
  EXPECT_TRUE(harness.snapshot().result->late.empty());
}

TEST(Setup, ALateRankThatIsNoLongerThereIsNamed) {
  Settings settings = small_settings();
  settings.delays = {{3, "attn.proj", 1}};
  StudioHarness harness({1920, 1080}, settings);
  settled(harness);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Setup/T = 2"); });
  settled(harness);
  EXPECT_EQ(harness.snapshot().state, RunState::Refused);
  EXPECT_THAT(harness.snapshot().message, HasSubstr("choose from 0 to 1"));
  harness.perform(
      [](ImGuiTestContext& person) { person.ItemClick("//Stage/refusal/try every rank on time"); });
  EXPECT_TRUE(settled(harness).delays.empty());
  EXPECT_EQ(harness.snapshot().state, RunState::Done);
}

TEST(Setup, AMatrixCardLeadsToItsProduct) {
  StudioHarness harness;
  settled(harness);
  harness.perform([](ImGuiTestContext& person) { person.ItemClick("//Setup/mlp.proj/show"); });
  const Program& program = harness.snapshot().plan->program;
  EXPECT_EQ(program.step(harness.view().selected_step).name, "mlp.proj");
  EXPECT_EQ(program.tensor(harness.view().selected_tensor).kind, MemoryKind::Weight);
}

}  // namespace setup_test
}  // namespace shardlens::ui
