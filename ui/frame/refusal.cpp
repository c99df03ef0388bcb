// Draws the card: see refusal.h.
#include "ui/frame/refusal.h"

#include <fmt/format.h>
#include <icons_font_awesome_4.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "engine/runtime/session/machine_watch.h"
#include "engine/runtime/snapshot.h"
#include "ui/commands/command_button.h"
#include "ui/frame/notice.h"
#include "ui/lesson/lesson_view.h"
#include "ui/panels/faults/faults.h"
#include "ui/panels/setup/delays.h"
#include "ui/panels/setup/setup.h"
#include "ui/plan/cache.h"
#include "ui/plan/shown_plan.h"
#include "ui/settings/difference.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/paint.h"
#include "ui/widgets/sentence.h"

namespace shardlens::ui {
namespace {

constexpr size_t kMostRemedies = 4;

/// What the card says: the problem, what would work, and which run is below the card.
struct Words {
  std::string title, rest, below;
};

Words words_of(const Context& context) {
  const Snapshot& snapshot = context.snapshot;
  Words words;
  if (snapshot.only_planned()) {
    words = {"Planned, not run", as_sentence(snapshot.message), {}};
    if (snapshot.message.starts_with("--backend") && context.machine.known &&
        context.machine.gpus.gpus.empty())
      words.rest = "No GPU can be used here. Memory, this machine, says why.";
    return words;
  }
  const Message message = split_message(snapshot.message);
  words = {message.headline, message.rest, {}};
  if (snapshot.state == RunState::Failed) words.title = "The run failed: " + message.headline;
  if (const Plan* const shown = shown_plan(snapshot); shown != nullptr && shows_stale(snapshot)) {
    const std::string what = difference(shown->program.settings, context.wanted());
    words.below = what.empty() ? "Below: the run before." : fmt::format("Below: the run before, {}.", what);
  }
  return words;
}

/// The smallest changes that help, best first, and last the settings that ran before.
std::vector<Remedy> offers_of(const Context& context) {
  const Snapshot& snapshot = context.snapshot;
  const Settings& wanted = context.wanted();
  std::vector<Remedy> offers;
  for (const Settings& fits : snapshot.fitting)
    if (is_possible(fits)) offers.push_back({difference(fits, wanted), fits});
  static Cache<Settings, std::vector<Remedy>> known;
  for (const Remedy& remedy : known.of(wanted, [&] { return remedies(wanted, kMostRemedies); }))
    offers.push_back(remedy);
  if (snapshot.only_planned() && snapshot.message.starts_with("--backend"))
    offers.push_back({"run on the CPU", with_backend(wanted, BackendChoice::Cpu)});
  if (!wanted.weights_path.empty()) {
    Settings seeded = wanted;
    seeded.weights_path.clear();
    offers.push_back({"seeded weights", seeded});
  }
  if (!wanted.delays.empty()) offers.push_back({"every rank on time", without_delays(wanted)});
  if (snapshot.result && snapshot.result->plan && !snapshot.result->replayed) {
    const Settings& ran = snapshot.result->plan->program.settings;
    if (ran != wanted) offers.push_back({"back to " + difference(ran, wanted), ran});
  }
  std::vector<Remedy> different;
  for (Remedy& offer : offers) {
    const bool again = std::any_of(different.begin(), different.end(),
                                   [&](const Remedy& one) { return one.settings == offer.settings; });
    if (!again) different.push_back(std::move(offer));
  }
  return different;
}

/// The buttons, as many in a line as fit; `run_words` on the one that runs, null: there is none. The first is
/// the one to take if a person has no other wish.
void draw_offers(const Context& context, const std::vector<Remedy>& offers, const char* run_words,
                 float room) {
  const float left = ImGui::GetCursorScreenPos().x, end = left + room;
  const float gap = context.px(8);
  float x = left;
  const auto place = [&](float width) {
    if (x > left && x + width <= end) ImGui::SameLine(0, gap);
    if (x + width > end) x = left;
    x += width + gap;
  };
  bool first = true;
  const auto look = [&] { return std::exchange(first, false) ? ButtonLook::Accent : ButtonLook::Plain; };
  const auto draw_run = [&] {
    const std::string text = std::string(ICON_FA_PLAY "  ") + run_words;
    place(button_width(context, text));
    command_button(context, "run.run", text, look());
  };
  const bool waits = context.snapshot.waits_for_run;
  if (run_words != nullptr && !waits) draw_run();
  for (const Remedy& offer : offers) {
    const std::string id = "try " + offer.label;
    const std::string label = fitted_button(context, offer.label, room);
    place(button_width(context, label));
    if (draw_button(context, id.c_str(), label, look(), true, label == offer.label ? "" : offer.label))
      context.want(offer.settings);
  }
  if (waits) draw_run();  // a smaller run is the better one
}

}  // namespace

bool draw_refusal(const Context& context) {
  const Snapshot& snapshot = context.snapshot;
  if (!has_stopped(snapshot) || snapshot.message.empty() || shown_failure(snapshot) != nullptr) return false;
  if (snapshot.only_planned() && is_in_scene(context.view)) return false;  // the scene is about a plan
  const Theme& theme = context.theme;
  const Words words = words_of(context);
  const TextStyle title{context.fonts.bold, std::round(context.px(kBodySize)), theme.text};
  const TextStyle body{context.fonts.body, std::round(context.px(kBodySize)), theme.text};
  const TextStyle note{context.fonts.body, std::round(context.px(kSmallSize)), theme.dim};
  const float pad = context.px(12), gap = context.px(6);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x, inner = width - 2 * pad;
  ImDrawList* list = ImGui::GetWindowDrawList();
  split_layers(list, 2);  // the card is drawn below its content, after its height is known
  choose_layer(list, 1);
  ImVec2 pen{at.x + pad, at.y + pad};
  pen.y += draw_wrapped(list, pen, title, words.title, inner);
  if (!words.rest.empty()) pen.y += gap + draw_wrapped(list, {pen.x, pen.y + gap}, body, words.rest, inner);
  if (!words.below.empty()) pen.y += gap + draw_wrapped(list, {pen.x, pen.y + gap}, note, words.below, inner);
  const char* const run_words = snapshot.waits_for_run                                 ? "Run it all the same"
                                : snapshot.state != RunState::Refused && snapshot.plan ? "Run it again"
                                                                                       : nullptr;
  const std::vector<Remedy> offers = offers_of(context);
  if (run_words != nullptr || !offers.empty()) {
    ImGui::SetCursorScreenPos({pen.x, pen.y + context.px(10)});
    ImGui::PushID("refusal");
    ImGui::BeginGroup();
    draw_offers(context, offers, run_words, inner);
    ImGui::EndGroup();
    ImGui::PopID();
    pen.y = ImGui::GetItemRectMax().y;
  }
  choose_layer(list, 0);
  const ImVec2 end{at.x + width, pen.y + pad};
  fill_rect(list, at, end, theme.card, context.px(6));
  outline_rect(list, at, end, theme.text, context.px(6), std::max(1.0f, context.px(1.5f)));
  join_layers(list);
  ImGui::SetCursorScreenPos({at.x, end.y + context.px(12)});
  ImGui::Dummy({0, 0});
  ImGui::SetCursorScreenPos({at.x, end.y + context.px(12)});
  return true;
}

}  // namespace shardlens::ui
