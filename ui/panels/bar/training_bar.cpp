// Draws the Bar over Train: see training_bar.h.
#include "ui/panels/bar/training_bar.h"

#include <fmt/format.h>

#include "engine/base/counted.h"
#include "engine/config/presets.h"
#include "ui/commands/commands.h"
#include "ui/panels/bar/bar_chips.h"
#include "ui/panels/bar/bar_ends.h"
#include "ui/panels/train/train_view.h"

namespace shardlens::ui {
namespace {

constexpr float kBetween = 8;
constexpr float kWide = 1100;  ///< from this width on there is room for everything

std::string training_words(const TrainView& train) {
  const TrainChoices& choices = train.choices();
  return fmt::format("{}{}  \u00B7  {}  \u00B7  T = {}, D = {}  \u00B7  {}  \u00B7  {} \u00D7 {}",
                     model_preset(choices.model).title, train.comparison ? ", post-LN and pre-LN" : "",
                     counted(choices.layers, "layer"), choices.tp, choices.dp, to_string(choices.dtype),
                     choices.batch, choices.seq);
}

}  // namespace

void draw_training_bar(const Context& c) {
  TrainView& train = c.view.of<TrainView>();
  const float width = ImGui::GetContentRegionAvail().x;
  const bool wide = width > c.px(kWide);
  if (wide) draw_brand(c);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const Chip chip = record_chip(c.recorded.runs, c.recorded.steps, c.theme);
  const ChipDetail detail = wide ? ChipDetail::Full : ChipDetail::Short;
  const float room = ImGui::GetContentRegionAvail().x - chip_width(c, chip, detail) - c.px(2 * kBetween) -
                     (wide ? hint_width(c) : 0);
  const std::string words = fitted_button(c, training_words(train), room);
  if (draw_button(
          c, "training", words, ButtonLook::Plain, true,
          "What is trained, on how many ranks, in which numbers, batch \u00D7 sequence. The form on the "
          "page changes it"))
    train.page = TrainPage::Choices;
  ImGui::SetCursorScreenPos(
      {at.x + button_width(c, words) + c.px(kBetween), at.y + c.px((kControlHeight - kChipHeight) / 2)});
  if (draw_chip(c, "record", chip, detail)) find_command("run.record").run(c);
  if (wide) draw_hint(c, at.y);
}

}  // namespace shardlens::ui
