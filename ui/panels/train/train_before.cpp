// The Train tab before the first training: what Start would do, in figures, and a recorded example.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/counted.h"
#include "engine/base/units.h"
#include "engine/config/presets.h"
#include "engine/cost/memory_wall.h"
#include "engine/planner/parameters.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "ui/outbox.h"
#include "ui/panels/start/start_view.h"
#include "ui/panels/train/train_parts.h"
#include "ui/panels/train/train_view.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"

namespace shardlens::ui {
namespace {

constexpr const char* kExample = "training";  ///< of the gallery
constexpr float kWidestExample = 960;
constexpr float kWidest = 620;  ///< a wider line of text is hard to read

/// A fact of the training, and what it follows from.
using Fact = std::pair<std::string, std::string>;

std::vector<Fact> facts_of(const TrainChoices& choices, bool comparison) {
  Model model = model_preset(choices.model);
  model.layers = choices.layers;
  const auto parameters = static_cast<double>(parameter_count(model));
  const int64_t tokens = choices.batch * choices.seq;
  std::vector<Fact> facts;
  facts.emplace_back("model",
                     fmt::format("{}, {} of {}, {} parameters{}", model.title, counted(model.layers, "layer"),
                                 model.hidden, format_count(parameters), comparison ? ", twice" : ""));
  facts.emplace_back(
      "ranks",
      choices.tp * choices.dp == 1
          ? "one: nothing is cut"
          : fmt::format("{}: every layer is cut over T = {}{}", counted(choices.tp * choices.dp, "rank"),
                        choices.tp, choices.dp > 1 ? fmt::format(", in D = {} replicas", choices.dp) : ""));
  facts.emplace_back("memory",
                     fmt::format("about {} per rank: 16 bytes per parameter over T, before activations",
                                 bytes_text(wall_bytes(parameters, choices.tp).total())));
  facts.emplace_back("a step",
                     fmt::format("{} × {} = {} tokens", choices.batch, choices.seq, grouped_text(tokens)));
  facts.emplace_back("in all", fmt::format("{}, {} tokens", counted(choices.steps, "step"),
                                           format_count(static_cast<double>(tokens * choices.steps))));
  facts.emplace_back("text", choices.text.empty() ? "Genesis, built in" : choices.text);
  return facts;
}

/// Draws the gallery's training as an example, with a button that replays it.
void draw_example(const Context& context, ImVec2 min, ImVec2 room) {
  const Type type(context);
  StartView& start = context.view.of<StartView>();
  if (!start.glimpses) start.glimpses = std::make_shared<GalleryGlimpses>();
  const std::shared_ptr<const Glimpse> example = start.glimpses->of(kExample);
  if (!example || example->losses.size() < 2) return;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const std::string button = "Replay the example";
  const float reserve = button_width(context, button) + context.px(16);
  draw_text(list, min, type.strong, "An example");
  draw_text(list, {min.x, min.y + type.strong.size + context.px(4)}, type.note,
            fitted(type.note,
                   fmt::format("loss of {} steps, from {} to {}, recorded on {}", example->losses.size(),
                               format_value(example->losses.front()), format_value(example->losses.back()),
                               example->machine),
                   room.x - reserve));
  ImGui::SetCursorScreenPos({min.x + room.x - button_width(context, button), min.y});
  if (draw_button(context, "example", button, ButtonLook::Plain, true, "Opens a recording of the gallery"))
    context.send(replay_command::Open{std::string("gallery:") + kExample});
  const float head = context.px(kControlHeight + 12), foot = context.px(20), scale = context.px(48);
  const ImVec2 from{min.x + scale, min.y + head}, to{min.x + room.x, min.y + room.y - foot};
  draw_loss_glimpse(context, list, example->losses, from, to);
  const auto [least, most] = std::minmax_element(example->losses.begin(), example->losses.end());
  const float left = from.x - context.px(8);
  draw_text(list, {left, from.y - type.mono_note.size / 2}, type.mono_note, format_value(*most),
            Align::Right);
  draw_text(list, {left, to.y - type.mono_note.size}, type.mono_note, format_value(*least), Align::Right);
  draw_text(list, {from.x, to.y + context.px(4)}, type.note, "step 1");
  draw_text(list, {to.x, to.y + context.px(4)}, type.note, fmt::format("step {}", example->losses.size()),
            Align::Right);
}

}  // namespace

void draw_before_training(const Context& context, ImVec2 min, ImVec2 room) {
  const Type type(context);
  const TrainView& view = context.view.of<TrainView>();
  ImDrawList* list = ImGui::GetWindowDrawList();
  draw_text(list, min, type.figure, "What Start would do");
  float y = min.y + type.figure.size + context.px(12);
  const float name = context.px(84), width = std::min(room.x, context.px(kWidest));
  for (const auto& [what, words] : facts_of(view.choices(), view.comparison)) {
    draw_text(list, {min.x, y}, in(type.body, context.theme.dim), what);
    y += draw_wrapped(list, {min.x + name, y}, type.body, words, width - name) + context.px(6);
  }
  y += context.px(10);
  y += draw_wrapped(
           list, {min.x, y}, type.note,
           "Its loss then grows here against the entropy of the text, with tokens per second and every "
           "layer's gradient norm. The page text shows what the model writes. Freeze puts a step on "
           "the Stage, rank by rank.",
           width) +
       context.px(24);
  const float left = min.y + room.y - y;
  if (left > context.px(120))
    draw_example(
        context, {min.x, y},
        {std::min(room.x - context.px(8), context.px(kWidestExample)), std::min(left, context.px(360))});
}

}  // namespace shardlens::ui
