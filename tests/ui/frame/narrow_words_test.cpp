// Words in a narrow window, such as a phone's: on every page none may cover another one, and none may be cut
// at its sides. The words are read from a tape onto which one frame is drawn.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <imgui_internal.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tests/ui/studio_harness.h"
#include "ui/collective/collective_view.h"
#include "ui/panels/compare/compare_view.h"
#include "ui/panels/memory/memory_view.h"
#include "ui/panels/program/program_view.h"
#include "ui/panels/scaling/scaling_view.h"
#include "ui/panels/traffic/traffic_view.h"
#include "ui/product/product_view.h"

namespace shardlens::ui {
namespace narrow_words_test {

constexpr float kAside = 2, kAbove = 4;  ///< the air around letters, which may lie over another word

struct Placed {
  std::string text;
  ImRect whole, seen;  ///< seen: inside the clip rectangle
};

std::vector<Placed> placed_words(StudioHarness& harness) {
  std::vector<Placed> all;
  for (const TapeMark& one : marks_on_screen(harness)) {
    const auto* words = std::get_if<mark::Words>(&one.what);
    if (words == nullptr || words->upwards) continue;
    const float width = text_width(words->style, words->text);
    const float left = words->at.x - (words->align == Align::Centre  ? width / 2
                                      : words->align == Align::Right ? width
                                                                     : 0);
    ImRect whole{{left, words->at.y}, {left + width, words->at.y + words->style.size}};
    ImRect seen = whole;
    seen.ClipWithFull({one.clip_min, one.clip_max});
    if (seen.GetWidth() > 1 && seen.GetHeight() > 1) all.push_back({words->text, whole, seen});
  }
  return all;
}

/// Where what is cut can be reached.
bool scrolls_sideways(ImVec2 at) {
  for (const ImGuiWindow* window : ImGui::GetCurrentContext()->Windows)
    if (window->WasActive && window->ScrollMax.x > 0 && window->InnerRect.Contains(at)) return true;
  return false;
}

std::vector<std::string> faults_of(const std::vector<Placed>& words) {
  std::vector<std::string> faults;
  for (size_t i = 0; i < words.size(); ++i) {
    const Placed& one = words[i];
    const bool is_cut =
        one.seen.Min.x > one.whole.Min.x + kAside || one.seen.Max.x < one.whole.Max.x - kAside;
    if (one.text == "…") faults.push_back("words of which nothing is left");
    if (is_cut && !scrolls_sideways(one.seen.GetCenter()))
      faults.push_back(fmt::format("cut: \"{}\"", one.text));
    for (size_t j = 0; j < i; ++j) {
      ImRect both = one.seen;
      both.ClipWith(words[j].seen);
      // The numbers of a curve's points lie where the points lie.
      const bool are_points = one.text.size() == 1 && words[j].text.size() == 1;
      if (!are_points && both.GetWidth() > kAside && both.GetHeight() > kAbove)
        faults.push_back(fmt::format("\"{}\" covers \"{}\"", one.text, words[j].text));
    }
  }
  return faults;
}

struct View {
  const char* name;
  std::function<void(ViewState&)> show;
};

std::vector<View> views() {
  const auto on = [](Tab tab, std::function<void(ViewState&)> more = {}) {
    return [tab, more = std::move(more)](ViewState& view) {
      view.tab = tab;
      view.focus_tab = true;
      if (more) more(view);
    };
  };
  const auto page = [&]<class Page>(Tab tab, auto Page::*choice, auto value) {
    return on(tab, [choice, value](ViewState& view) { view.of<Page>().*choice = value; });
  };
  std::vector<View> all;
  for (const TabNames& names : kTabs) all.push_back({names.window, on(names.tab)});
  all.push_back({"this layer's memory", page(Tab::Memory, &MemoryView::this_layer, true)});
  all.push_back({"this machine's memory", page(Tab::Memory, &MemoryView::this_machine, true)});
  all.push_back({"times", page(Tab::Traffic, &TrafficView::times, true)});
  for (const auto& [name, value] : {std::pair{"strong scaling", ScalingPage::Strong},
                                    {"heads", ScalingPage::Heads},
                                    {"break-even", ScalingPage::BreakEven},
                                    {"cluster", ScalingPage::Cluster}})
    all.push_back({name, page(Tab::Scaling, &ScalingView::page, value)});
  for (const auto& [name, value] : {std::pair{"tournament", ComparePage::Tournament},
                                    {"sweep", ComparePage::Sweep},
                                    {"two recordings", ComparePage::Recordings}})
    all.push_back({name, page(Tab::Compare, &CompareView::page, value)});
  for (const auto& [name, value] : {std::pair{"what a sum allows", ProgramPage::Algebra},
                                    {"by hand", ProgramPage::ByHand},
                                    {"texts' figures", ProgramPage::Figures}})
    all.push_back({name, page(Tab::Program, &ProgramView::page, value)});
  all.push_back({"matrices", page(Tab::Stage, &ProductView::open, true)});
  all.push_back({"a number", page(Tab::Stage, &ProductView::number, true)});
  all.push_back({"why", page(Tab::Stage, &ProductView::bend_page, true)});
  all.push_back({"inside a collective", on(Tab::Stage, [](ViewState& view) {
                   view.of<ProductView>().open = false;
                   view.of<CollectiveView>().open = true;
                   view.of<CollectiveView>().stand_at(3);
                 })});
  all.push_back({"price of a collective", page(Tab::Stage, &CollectiveView::price_first, true)});
  for (const auto& [name, front] :
       {std::pair{"Setup", Front::Setup}, {"Inspector", Front::Inspector}, {"Timeline", Front::Timeline}})
    all.push_back({name, on(Tab::Stage, [front](ViewState& view) {
                     view.of<CollectiveView>().open = false;
                     view.front = front;
                   })});
  return all;
}

class NarrowWords : public ::testing::TestWithParam<PixelSize> {};

TEST_P(NarrowWords, NoneCoversAnotherAndNoneIsCut) {
  StudioHarness harness(GetParam());
  harness.wait_until_at_rest();
  const Program& program = harness.snapshot().plan->program;
  const auto product = std::find_if(program.steps.begin(), program.steps.end(), [&](const Step& step) {
    return step.op == Op::Linear && is_collective(program.step(step.id + 1).op);
  });
  for (const View& view : views()) {
    // The product opens as a page; the collective behind it opens too.
    const bool inside = std::string_view(view.name).find("collective") != std::string_view::npos;
    select_step(harness.view(), program, product->id + (inside ? 1 : 0));
    view.show(harness.view());
    harness.draw_frames(4);
    harness.wait_until_at_rest();
    harness.draw_frames(8);
    const std::vector<Placed> words = placed_words(harness);
    EXPECT_GT(words.size(), 10u) << view.name;
    EXPECT_EQ(faults_of(words), std::vector<std::string>{}) << view.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Phones, NarrowWords, ::testing::Values(PixelSize{390, 844}, PixelSize{360, 740}),
                         [](const auto& size) { return fmt::format("{}", size.param.width); });

}  // namespace narrow_words_test
}  // namespace shardlens::ui
