// A lesson's light on the Stage: which rows it lights, what its callouts stand beside, and that all else is
// drawn at 30 %.
#include "ui/stage/stage_light.h"

#include <gmock/gmock.h>
#include <imgui_internal.h>

#include <algorithm>
#include <cmath>

#include "engine/config/presets.h"
#include "engine/config/splits.h"
#include "engine/planner/planner.h"
#include "engine/runtime/snapshot.h"
#include "engine/train/experiments/break_snapshot.h"
#include "tests/ui/studio_harness.h"
#include "ui/plan/shown_plan.h"
#include "ui/stage/stage_view.h"
#include "ui/stage/strip_light.h"

namespace shardlens::ui::stage {
namespace stage_light_test {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

Program layer(int tp) {
  Settings settings = small_settings();
  settings.tp = tp;
  return plan_program(settings);
}

LightPlaces looked_up(const Program& program, const StageLight& light) {
  LightPlaces places;
  for (const std::string& name : light.lit) places.lit.push_back(place_named(program, name));
  for (const StageCallout& callout : light.callouts)
    places.callouts.push_back(place_named(program, callout.at));
  return places;
}

/// A light on a Program's rows. A line of a callout is ten letters long.
struct LitRows {
  LitRows(const Program& program, const StageLight& light) : rows(rows_of(program)) {
    dimming = light_rows(rows, looked_up(program, light), light, program.tp(),
                         [](const std::string& text) { return static_cast<int>((text.size() + 9) / 10); });
  }
  /// The texts of each plate from top to bottom.
  std::vector<std::vector<std::string>> plates() const {
    std::vector<std::vector<std::string>> texts;
    for (const Plate& plate : plates_of(rows)) {
      texts.emplace_back();
      for (size_t row = plate.first; row <= plate.last; ++row) texts.back().push_back(rows[row].title);
    }
    return texts;
  }
  const Row& callout() const {
    return *std::find_if(rows.begin(), rows.end(),
                         [](const Row& row) { return row.kind == RowKind::Callout; });
  }
  std::vector<Row> rows;
  Dimming dimming;
};

TEST(StageLight, NamesAreALessonsNames) {
  const Program program = layer(4);
  const auto step = [&](const std::string& name) {
    const NamedPlace place = place_named(program, name);
    return place.step < 0 ? "none" : program.step(place.step).name;
  };
  EXPECT_EQ(step("mlp.proj"), "mlp.proj");
  EXPECT_EQ(step("all-reduce mlp.proj.sum"), "all-reduce mlp.proj.sum");
  EXPECT_EQ(step("mlp.proj.sum@partial"), "mlp.proj") << "a tensor stands at the step that writes it";
  EXPECT_EQ(step("Wproj"), "mlp.proj") << "a weight at the step that reads it first";
  EXPECT_EQ(step("mlp.fc.weight"), "mlp.fc");
  EXPECT_EQ(place_named(program, "rank 2").rank, 2);
  for (const char* name : {"mlp.prj", "", "rank", "rank two", "h.0.mlp.fc"}) {
    const NamedPlace place = place_named(program, name);
    EXPECT_EQ(std::tie(place.rank, place.step, place.tensor), std::make_tuple(-1, -1, kNoTensor)) << name;
  }
}

TEST(StageLight, NeighboursShareAPlate) {
  const LitRows lit(layer(4), {{"mlp.proj", "all-reduce mlp.proj.sum", "attn.qkv"}, {}});
  EXPECT_TRUE(lit.dimming.rows);
  EXPECT_THAT(lit.plates(),
              ElementsAre(ElementsAre("QKV = U · Wqkv + b"), ElementsAre("Z = G · Wproj", "all-reduce(Z)")));
}

TEST(StageLight, AnInputHasARowOfItsOwn) {
  const LitRows lit(layer(4), {{"X"}, {}});
  ASSERT_EQ(plates_of(lit.rows).size(), 1u);
  EXPECT_EQ(lit.rows[plates_of(lit.rows)[0].first].kind, RowKind::Input);
}

TEST(StageLight, CalloutsStandAboveTensorsAndBelowBands) {
  const LitRows lit(layer(4), {{"mlp.proj", "all-reduce mlp.proj.sum"},
                               {{"mlp.proj", "a share"}, {"all-reduce mlp.proj.sum", "they meet"}}});
  EXPECT_THAT(lit.plates(),
              ElementsAre(ElementsAre("a share", "Z = G · Wproj", "all-reduce(Z)", "they meet")));
  EXPECT_FALSE(lit.callout().points_up);
}

TEST(StageLight, ACalloutAloneHasAPlateAndDimsNothing) {
  const LitRows lit(layer(4), {{}, {{"mlp.proj", "a share"}, {"Z", "a term"}, {"mlp.proj", "a sum"}}});
  EXPECT_FALSE(lit.dimming.rows);
  ASSERT_EQ(lit.plates().size(), 1u) << "one place, one row: Z is what mlp.proj writes";
  EXPECT_THAT(lit.plates()[0][0], "a share\na term\na sum");
}

TEST(StageLight, ARanksCalloutStandsBelowTheFirstLitTensors) {
  const LitRows lit(layer(4), {{"mlp.proj", "all-reduce mlp.proj.sum"}, {{"rank 2", "late"}}});
  EXPECT_THAT(lit.plates(), ElementsAre(ElementsAre("Z = G · Wproj", "late", "all-reduce(Z)")));
  EXPECT_EQ(lit.callout().rank, 2);
  EXPECT_TRUE(lit.callout().points_up);
}

TEST(StageLight, ARankDimsTheOtherLanes) {
  const LitRows lit(layer(4), {{"rank 2", "rank 0"}, {}});
  EXPECT_FALSE(lit.dimming.rows) << "all rows are as bright";
  EXPECT_THAT(lit.plates(), IsEmpty());
  EXPECT_FALSE(lit.dimming.lane_is_dim(2, 2));
  EXPECT_TRUE(lit.dimming.lane_is_dim(1, 1));
  EXPECT_FALSE(lit.dimming.lane_is_dim(1, 3)) << "a lane of several ranks";
  EXPECT_FALSE(Dimming{}.lane_is_dim(0, 0));
}

TEST(StageLight, WhatThePlanDoesNotHaveLightsNothing) {
  for (const int tp : {1, 4}) {
    const Program program = layer(tp);
    const LitRows lit(program, {{"h.3.mlp.fc", "nothing", "rank 9"}, {{"rank 4", "late"}, {"H2", "text"}}});
    EXPECT_FALSE(lit.dimming.rows);
    EXPECT_FALSE(lit.dimming.lane_is_dim(0, 0));
    EXPECT_EQ(lit.rows.size(), rows_of(program).size());
    EXPECT_THAT(lit.plates(), IsEmpty());
  }
}

TEST(StageLight, ACollectiveThatIsLeftOutIsLitWithWhatIsKept) {
  const Program program = layer(4);
  std::vector<Row> rows = rows_of(program);
  const StepId step = place_named(program, "all-reduce mlp.proj.sum").step;
  for (size_t row = 0; row < rows.size(); ++row)
    if (rows[row].step == step && rows[row].kind != RowKind::Kept) show_left_out(rows, program, row);
  const StageLight light{{"all-reduce mlp.proj.sum"}, {{"all-reduce mlp.proj.sum", "nobody adds"}}};
  light_rows(rows, looked_up(program, light), light, 4, [](const std::string&) { return 1; });
  ASSERT_EQ(plates_of(rows).size(), 1u);
  const Plate plate = plates_of(rows)[0];
  std::vector<RowKind> kinds;
  for (size_t row = plate.first; row <= plate.last; ++row) kinds.push_back(rows[row].kind);
  EXPECT_THAT(kinds, ElementsAre(RowKind::Callout, RowKind::LeftOut, RowKind::Kept));
}

TEST(StageLight, LongWordsAndPlatesTakeRoomInTheStack) {
  const Program program = layer(4);
  const auto height = [&](const StageLight& light) {
    return stack_rows(LitRows(program, light).rows, 1, 1).total;
  };
  const float plain = height({}), lit = height({{"mlp.proj"}, {}}),
              line = height({{"mlp.proj"}, {{"mlp.proj", "a share"}}});
  EXPECT_FLOAT_EQ(lit - plain, 2 * kPlatePad);
  const std::string last = program.steps.back().name;
  EXPECT_FLOAT_EQ(height({{last}, {}}) - plain, 2 * kPlatePad) << "below the last row too";
  EXPECT_GT(line, lit + 30);
  const LitRows three(program, {{"mlp.proj"}, {{"mlp.proj", "a share of a sum of four"}}});
  EXPECT_EQ(three.callout().lines, 3);
  EXPECT_FLOAT_EQ(stack_rows(three.rows, 1, 1).total - line, 2 * 16);
  const float zoom = fitting_zoom(three.rows, 800, 1, 0.02f);
  EXPECT_LE(stack_rows(three.rows, zoom, 1).total, 800);
}

TEST(StageLight, PartsOfAModelAreLitByTheirSteps) {
  Settings settings = small_settings();
  settings.model = model_preset("gpt2-tiny");
  settings.block = Block::Model;
  const Program program = plan_program(settings);
  const StageLight light{{"h.1.mlp.fc", "rank 1", "mlp.fc"},
                         {{"grad.h.0.ln2.out@partial", "on the way back"}}};
  const std::vector<LitPart> parts =
      lit_parts(program, make_sections(program), looked_up(program, light), light);
  std::vector<size_t> lit, on_plate;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].lit) lit.push_back(i);
    if (parts[i].is_on_plate()) on_plate.push_back(i);
  }
  EXPECT_THAT(lit, ElementsAre(2u));
  EXPECT_THAT(on_plate, ElementsAre(1u, 2u));
  EXPECT_THAT(parts[1].callouts, ElementsAre("", "on the way back"));
  const StripRows rows = place_rows({0, 20, 0, 0}, 220, 10, 100);
  EXPECT_THAT(rows.top, ElementsAre(170, 120, 50, 0)) << "the callout stands above its part";
  EXPECT_THAT(lit_stretch({{}, {false, {"text", ""}}, {}, {}}, rows), std::make_pair(100.0f, 170.0f));
}

// The window.

ImGuiWindow* rows_window() {
  return window_with("##stage_rows");
}

ImRect place_of(StudioHarness& harness, const std::string& item) {
  ImRect place;
  harness.perform(
      [&](ImGuiTestContext& person) { place = person.ItemInfo(("//Stage/**/" + item).c_str()).RectFull; });
  return place;
}

StepId step_of(StudioHarness& harness, const std::string& name) {
  const StepId step = place_named(shown_plan(harness.snapshot())->program, name).step;
  EXPECT_GE(step, 0) << name;
  return step;
}
ImRect row_of(StudioHarness& harness, const std::string& name) {
  return place_of(harness, "##stage_step_" + std::to_string(step_of(harness, name)));
}
ImRect cell_of(StudioHarness& harness, const std::string& name, int rank) {
  return place_of(harness,
                  "##stage_step_" + std::to_string(step_of(harness, name)) + "_rank_" + std::to_string(rank));
}

/// How much there is to be seen in a place: the mean distance of its pixels from a ground.
double ink_in(const Image& image, const ImRect& place, ImU32 ground) {
  double sum = 0;
  int count = 0;
  for (int y = static_cast<int>(place.Min.y); y < static_cast<int>(place.Max.y); ++y) {
    for (int x = static_cast<int>(place.Min.x); x < static_cast<int>(place.Max.x); ++x, ++count) {
      const std::uint8_t* const pixel = image.pixel(x, y);
      for (int channel = 0; channel < 3; ++channel)
        sum += std::abs(pixel[channel] - static_cast<int>((ground >> (8 * channel)) & 0xFF));
    }
  }
  return count > 0 ? sum / count : 0;
}

Image picture(StudioHarness& harness) {
  harness.draw_frames(3);
  return harness.platform().read_pixels();
}

void shine(StudioHarness& harness, const StageLight& light) {
  harness.view().of<StageLight>() = light;
  harness.draw_frames(4);
}

/// A studio at rest that selects nothing, with all rows in the panel.
void fit(StudioHarness& harness) {
  harness.wait_until_at_rest();
  harness.view().selected_step = -1;
  harness.view().of<StageView>().fitted = true;
  harness.draw_frames(4);
}

TEST(StageLightDrawn, RowsThatAreNotLitAreAtThirtyPercent) {
  for (const ThemeName theme : {ThemeName::Dark, ThemeName::Light}) {
    StudioHarness harness;
    harness.view().theme = theme;
    fit(harness);
    const ImU32 ground = ui::theme(theme).window, plate = plate_colour(ui::theme(theme));
    const auto ink = [&](const std::string& name, int rank, ImU32 on) {
      const ImRect cell = cell_of(harness, name, rank);
      return ink_in(picture(harness), cell, on);
    };
    const double product = ink("mlp.fc", 1, ground), band = ink("all-reduce attn.proj.sum", 1, ground),
                 lit = ink("mlp.proj", 1, ground);
    shine(harness, {{"mlp.proj", "all-reduce mlp.proj.sum"}, {{"mlp.proj", "a share of the sum"}}});
    EXPECT_NEAR(ink("mlp.fc", 1, ground) / product, 0.3, 0.05);
    EXPECT_NEAR(ink("all-reduce attn.proj.sum", 1, ground) / band, 0.3, 0.05);
    EXPECT_NEAR(ink("mlp.proj", 1, plate) / lit, 1, 0.25);
    shine(harness, {{"mlp.proj", "rank 1"}, {}});
    const double here = ink("mlp.proj", 1, plate);
    EXPECT_NEAR(here / lit, 1, 0.25);
    EXPECT_NEAR(ink("mlp.proj", 2, plate) / here, 0.3, 0.1);
    shine(harness, {{"no such step"}, {{"nor this", "text"}}});
    EXPECT_NEAR(ink("mlp.fc", 1, ground) / product, 1, 0.02) << "nothing is dimmed";
  }
}

TEST(StageLightDrawn, LaneHeadsStayInFullLight) {
  StudioHarness harness;
  fit(harness);
  const ImRect rows = rows_window()->InnerRect;
  const ImRect heads({rows.Min.x + 300, rows.Min.y - 34}, {rows.Max.x, rows.Min.y});
  const double before = ink_in(picture(harness), heads, 0);
  shine(harness, {{"mlp.proj", "rank 2"}, {}});
  EXPECT_EQ(ink_in(picture(harness), heads, 0), before);
}

// Of one rank and of eight, in a small window and in lecture mode.
TEST(StageLightDrawn, CalloutsAreWrappedAndWholeAndCoverNoTensor) {
  const std::string text =
      "each rank holds the full shape of the product and a share of every sum in it, which is of no use "
      "before "
      "the shares of all ranks are added; that is the one place of this block where the ranks meet";
  for (const int tp : {1, 8}) {
    for (const bool lecture : {false, true}) {
      Settings settings = small_settings();
      settings.model.heads = settings.model.kv_heads = 8;
      settings.tp = tp;
      StudioHarness harness({1280, 720}, settings);
      harness.view().set_lecture(lecture);
      harness.wait_until_at_rest();
      harness.view().selected_step = -1;
      shine(harness, {{"mlp.proj"}, {{"mlp.proj", text}}});
      const ImRect rows = rows_window()->InnerRect;
      const ImRect row = row_of(harness, "mlp.proj");
      EXPECT_GE(row.Min.y, rows.Min.y) << "the lit row was scrolled into view";
      EXPECT_LE(row.Max.y, rows.Max.y);
      std::string said;
      for (const mark::Words& words : words_on_screen(harness)) {
        if (words.text.size() < 4 || text.find(words.text) == std::string::npos || !rows.Contains(words.at))
          continue;
        said += said.empty() ? words.text : " " + words.text;
        const float half = text_width(words.style, words.text) / 2;
        EXPECT_GE(words.at.x - half, rows.Min.x);
        EXPECT_LE(words.at.x + half, rows.Max.x);
        EXPECT_LE(words.at.y + words.style.size, row.Min.y) << "above the row that it is about";
      }
      EXPECT_EQ(said, text) << "T = " << tp << (lecture ? ", lecture mode" : "");
    }
  }
}

TEST(StageLightDrawn, LitRowsComeIntoViewOnceUnlessTheSelectionIsElsewhere) {
  StudioHarness harness({1280, 720});
  harness.wait_until_at_rest();
  harness.view().selected_step = -1;
  const auto is_in_view = [&](const std::string& name) {
    const ImRect rows = rows_window()->InnerRect, row = row_of(harness, name);
    return row.Min.y >= rows.Min.y && row.Max.y <= rows.Max.y;
  };
  const float before = rows_window()->Scroll.y;
  shine(harness, {{"all-reduce grad.ln1.out"}, {}});
  EXPECT_GT(rows_window()->Scroll.y, before + rows_window()->InnerRect.GetHeight());
  EXPECT_TRUE(is_in_view("all-reduce grad.ln1.out"));
  ImGui::SetScrollY(rows_window(), 0);
  harness.draw_frames(4);
  EXPECT_EQ(rows_window()->Scroll.y, 0) << "a person may scroll on";
  harness.view().of<StageLight>() = {{"all-reduce grad.ln2.out"}, {}};
  select_step(harness.view(), shown_plan(harness.snapshot())->program, step_of(harness, "attn.qkv"));
  harness.view().scroll_to_selection = true;
  harness.draw_frames(4);
  EXPECT_TRUE(is_in_view("attn.qkv"));
}

TEST(StageLightDrawn, FitCountsTheCallouts) {
  StudioHarness harness({1280, 720});
  fit(harness);
  const float before = harness.view().stage_zoom;
  shine(harness, {{"mlp.proj"}, {{"mlp.proj", "a share of the sum"}}});
  EXPECT_LE(rows_window()->ContentSize.y, rows_window()->InnerRect.GetHeight());
  EXPECT_LT(harness.view().stage_zoom, before);
}

TEST(StageLightDrawn, TheStripDimsPartsAndCarriesCallouts) {
  Settings settings = small_settings();
  settings.model = model_preset("gpt2-tiny");
  settings.block = Block::Model;
  settings.tp = 2;
  StudioHarness harness({1280, 720}, settings);
  harness.wait_until_at_rest();
  harness.view().selected_step = -1;
  const ImU32 ground = theme(ThemeName::Dark).window;
  const auto ink = [&](int part) {
    const ImRect row = place_of(harness, "##stage_section_" + std::to_string(part));
    return ink_in(picture(harness), ImRect({row.Min.x + 2, row.Min.y}, row.Max), ground);
  };
  const double before = ink(1);
  const float whole = place_of(harness, "##stage_section_1").GetHeight();
  shine(harness, {{"h.1.mlp.fc"}, {{"h.1.mlp.fc", "four times as wide"}}});
  const float now = place_of(harness, "##stage_section_1").GetHeight();
  EXPECT_LT(now, whole) << "the callout takes room";
  EXPECT_LT(ink(1), before * 0.45);
  EXPECT_THAT(texts_in(harness, "Stage"), Contains("four times as wide"));
}

TEST(StageLightDrawn, APlantedMistakeIsLitToo) {
  StudioHarness harness({1280, 720});
  harness.wait_until_at_rest();
  harness.studio().breaks().send(break_command::Start{small_settings(), Fault::SkipG, 1});
  const auto breaks = harness.studio().breaks().wait_until_idle(500);
  harness.draw_frames(4);
  ASSERT_EQ(harness.snapshot().result, breaks->report->probes[0]->pass.broken) << breaks->message;
  harness.view().tab = Tab::Stage;
  harness.view().focus_tab = true;
  harness.view().selected_step = -1;
  shine(harness, {{"all-reduce attn.proj.sum"}, {{"all-reduce attn.proj.sum", "nobody adds"}}});
  const std::vector<std::string> texts = texts_in(harness, "Stage");
  EXPECT_THAT(texts, Contains("nobody adds"));
  EXPECT_THAT(texts, Contains("left out"));
}

TEST(StageLightDrawn, AFigureShowsItOnWhitePaper) {
  StudioHarness harness({1280, 720});
  harness.wait_until_at_rest();
  shine(harness, {{"mlp.proj"}, {{"mlp.proj", "a share of the sum"}}});
  const Figure figure =
      harness.studio().draw_figure({.kind = FigureKind::Stage, .theme = ThemeName::Light, .size = {}});
  EXPECT_EQ(figure.lost_vertices, 0);
  std::vector<std::string> words;
  bool plate = false;
  int shades = 0;
  Theme inks = theme(ThemeName::Light);
  inks.window = inks.panel;
  for (const TapeMark& mark : figure.tape.marks()) {
    if (const auto* said = std::get_if<mark::Words>(&mark.what)) words.push_back(said->text);
    if (const auto* fill = std::get_if<mark::Fill>(&mark.what)) {
      plate = plate || (fill->colour == inks.card && fill->max.x - fill->min.x > 1500);
      shades += fill->colour == shade_of(inks.window);
    }
  }
  EXPECT_THAT(words, Contains("a share of the sum"));
  EXPECT_TRUE(plate) << "grey on white";
  EXPECT_EQ(shades, 2) << "above and below the plate";
}

}  // namespace stage_light_test
}  // namespace shardlens::ui::stage
