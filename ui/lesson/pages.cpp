#include "ui/lesson/pages.h"

#include "ui/collective/collective_view.h"
#include "ui/panels/break_it/break_view.h"
#include "ui/panels/compare/compare_view.h"
#include "ui/panels/memory/memory_view.h"
#include "ui/panels/program/program_view.h"
#include "ui/panels/scaling/scaling_view.h"
#include "ui/panels/traffic/traffic_view.h"
#include "ui/panels/train/train_view.h"
#include "ui/product/product_view.h"

namespace shardlens::ui {
namespace {

struct PageRow {
  Tab tab;
  const char* word;
  void (*show)(ViewState&);
  bool (*is_shown)(const ViewState&);
};

/// A page that is one value of a panel's member.
template <auto member, auto value>
struct Page;
template <class View, class Value, Value View::*member, Value value>
struct Page<member, value> {
  static void show(ViewState& view) { view.of<View>().*member = value; }
  static bool is_shown(const ViewState& view) { return view.of<View>().*member == value; }
};

template <auto member, auto value>
constexpr PageRow row(Tab tab, const char* word) {
  return {tab, word, Page<member, value>::show, Page<member, value>::is_shown};
}

template <bool layer, bool machine>
constexpr PageRow memory_row(const char* word) {
  return {Tab::Memory, word,
          [](ViewState& view) {
            view.of<MemoryView>().this_layer = layer;
            view.of<MemoryView>().this_machine = machine;
          },
          [](const ViewState& view) {
            return view.of<MemoryView>().this_layer == layer && view.of<MemoryView>().this_machine == machine;
          }};
}

/// The first row of a tab is what it shows if a scene names no page.
constexpr PageRow kPages[] = {
    {Tab::Stage, "rows",
     [](ViewState& view) {
       view.of<ProductView>() = {};
       view.of<CollectiveView>().open = false;
     },
     [](const ViewState& view) { return !view.of<ProductView>().open && !view.of<CollectiveView>().open; }},
    {Tab::Stage, "product", [](ViewState&) {},
     [](const ViewState& view) {
       const auto& row = view.of<ProductView>();
       return row.open && !row.number && !row.derivation;
     }},
    {Tab::Stage, "number", [](ViewState&) {},
     [](const ViewState& view) { return view.of<ProductView>().open && view.of<ProductView>().number; }},
    {Tab::Stage, "derivation", [](ViewState&) {},
     [](const ViewState& view) { return view.of<ProductView>().open && view.of<ProductView>().derivation; }},
    {Tab::Stage, "collective", [](ViewState&) {},
     [](const ViewState& view) {
       return view.of<CollectiveView>().open && !view.of<CollectiveView>().price_first;
     }},
    {Tab::Stage, "price", [](ViewState&) {},
     [](const ViewState& view) {
       return view.of<CollectiveView>().open && view.of<CollectiveView>().price_first;
     }},
    memory_row<false, false>("wall"),
    memory_row<true, false>("layer"),
    memory_row<false, true>("machine"),
    row<&TrafficView::times, false>(Tab::Traffic, "bytes"),
    row<&TrafficView::times, true>(Tab::Traffic, "times"),
    row<&ScalingView::page, ScalingPage::Weak>(Tab::Scaling, "weak"),
    row<&ScalingView::page, ScalingPage::Strong>(Tab::Scaling, "strong"),
    row<&ScalingView::page, ScalingPage::Heads>(Tab::Scaling, "heads"),
    row<&ScalingView::page, ScalingPage::BreakEven>(Tab::Scaling, "break-even"),
    row<&ScalingView::page, ScalingPage::Cluster>(Tab::Scaling, "cluster"),
    row<&CompareView::page, ComparePage::Splits>(Tab::Compare, "splits"),
    row<&CompareView::page, ComparePage::Tournament>(Tab::Compare, "tournament"),
    row<&CompareView::page, ComparePage::Sweep>(Tab::Compare, "sweep"),
    row<&CompareView::page, ComparePage::Recordings>(Tab::Compare, "recordings"),
    row<&TrainView::page, TrainPage::Choices>(Tab::Train, "choices"),
    row<&TrainView::page, TrainPage::Curves>(Tab::Train, "curves"),
    row<&TrainView::page, TrainPage::Text>(Tab::Train, "text"),
    row<&ProgramView::page, ProgramPage::Steps>(Tab::Program, "steps"),
    row<&ProgramView::page, ProgramPage::Algebra>(Tab::Program, "algebra"),
    row<&ProgramView::page, ProgramPage::ByHand>(Tab::Program, "by-hand"),
    row<&ProgramView::page, ProgramPage::Figures>(Tab::Program, "figures"),
    row<&BreakView::page, BreakPage::Faults>(Tab::BreakIt, "faults"),
    row<&BreakView::page, BreakPage::Errors>(Tab::BreakIt, "errors"),
    row<&BreakView::page, BreakPage::Loss>(Tab::BreakIt, "loss"),
};

}  // namespace

void show_page(ViewState& view, const std::string& tab, const std::string& page) {
  for (const TabNames& names : kTabs)
    if (tab == names.word || (tab.empty() && names.tab == Tab::Stage)) view.tab = names.tab;
  view.focus_tab = true;
  kPages[0].show(view);  // what was opened on the Stage is closed, whatever comes
  for (const PageRow& row : kPages) {
    if (row.tab != view.tab || (!page.empty() && page != row.word)) continue;
    return row.show(view);
  }
}

std::string shown_page(const ViewState& view) {
  for (const PageRow& row : kPages)
    if (row.tab == view.tab && row.is_shown(view)) return row.word;
  return {};
}

}  // namespace shardlens::ui
