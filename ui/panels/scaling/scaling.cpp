// The Scaling tab: the paper's measurements, the cost model's estimates and this machine's times, each with
// its own mark; the break-even at the border of a node; and clusters that are not here.
#include <algorithm>
#include <array>

#include "engine/runtime/session/scaling_snapshot.h"
#include "engine/runtime/snapshot.h"
#include "ui/outbox.h"
#include "ui/panels/panels.h"
#include "ui/panels/scaling/scaling_parts.h"
#include "ui/panels/scaling/scaling_view.h"

namespace shardlens::ui {
namespace {

constexpr std::array<ScalingPage, 5> kPages{ScalingPage::Weak, ScalingPage::Strong, ScalingPage::Heads,
                                            ScalingPage::BreakEven, ScalingPage::Cluster};

/// Asks for the page's data, once.
void ask(const Context& context) {
  ViewState& view = context.view;
  ScalingAsked& asked = view.of<ScalingAsked>();
  switch (view.of<ScalingView>().page) {
    case ScalingPage::BreakEven: {
      const scaling_command::PriceCrossing wish = crossing_wish(
          view.of<ScalingView>(),
          context.snapshot.plan ? context.snapshot.plan->program.settings : context.snapshot.settings);
      if (wish.settings == asked.crossing) return;
      asked.crossing = wish.settings;
      context.send(wish);
      return;
    }
    case ScalingPage::Cluster: {
      const scaling_command::PriceCluster wish = cluster_wish(view.of<ScalingView>());
      if (wish.settings == asked.cluster && wish.stages == asked.stages) return;
      asked.cluster = wish.settings;
      asked.stages = wish.stages;
      context.send(wish);
      return;
    }
    default:
      if (asked.paper) return;
      asked.paper = true;
      context.send(scaling_command::PricePaper{});
  }
}

}  // namespace

SourceLook look_of(const Theme& theme, Source source) {
  switch (source) {
    case Source::Paper:
      return {theme.text, DotMark::Diamond, false};
    case Source::Model:
      return {theme.forward, DotMark::Circle, false};
    case Source::Here:
      return {theme.agreement, DotMark::Triangle, true};
  }
  return {};
}

void draw_scaling(const Context& context) {
  ScalingView& view = context.view.of<ScalingView>();
  ask(context);
  static const std::array<std::string, 5> names{"weak", "strong", "heads", "break-even", "cluster"};
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float choices = choice_row_width(context, names);
  const auto taken = std::find(kPages.begin(), kPages.end(), view.page) - kPages.begin();
  const int clicked =
      choice_row(context, "page", {at.x + room.x - choices, at.y}, names, static_cast<int>(taken));
  if (clicked >= 0) view.page = kPages[static_cast<size_t>(clicked)];
  const PageWords words = page_words(view.page);
  page_head(context, words.title, words.explanation, choices + context.px(16));
  const ImVec2 min{at.x, ImGui::GetCursorScreenPos().y + context.px(4)};
  const ImVec2 size{room.x, at.y + room.y - min.y};
  if (view.page == ScalingPage::BreakEven) {
    draw_break_even(context, min, size);
  } else if (view.page == ScalingPage::Cluster) {
    draw_cluster(context, min, size);
  } else {
    draw_scaling_series(context, view.page, min, size);
  }
}

}  // namespace shardlens::ui
