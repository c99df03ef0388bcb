// The choices of the page "by hand": how the matrices are cut, with which numbers they begin, and the mistake
// that is planted.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "ui/panels/parts.h"
#include "ui/panels/program/by_hand_view.h"
#include "ui/plan/cache.h"
#include "ui/widgets/controls.h"

namespace shardlens::ui {
namespace {

struct HandOption {
  std::string words;
  bool taken = false;
  bool possible = true;
};

/// Lays the choices out in lines, each choice with its label before it.
class HandChoices {
 public:
  HandChoices(const Context& context, ImVec2 at, float width)
      : context_(context), type_(context), left_(at.x), width_(width), at_(at) {}

  /// Returns the index that was clicked, or -1. Ids are "##<id>/<words>".
  int draw(const char* id, const std::string& label, const std::vector<HandOption>& options) {
    const float height = choice_row_height(context_);
    const float named = text_width(type_.note, label) + context_.px(8);
    float whole = named;
    for (const HandOption& option : options) whole += width_of(option);
    if (at_.x > left_ && at_.x + std::min(whole, width_) > left_ + width_) new_line();
    draw_text(ImGui::GetWindowDrawList(), {at_.x, at_.y + (height - type_.note.size) / 2}, type_.note, label);
    at_.x += named;
    int clicked = -1;
    for (size_t i = 0; i < options.size(); ++i) {
      const float width = width_of(options[i]);
      if (at_.x > left_ && at_.x + width > left_ + width_) new_line();
      if (draw_one(id, options[i])) clicked = static_cast<int>(i);
      at_.x += width;
    }
    at_.x += context_.px(20);
    return clicked;
  }

  float height(float top) const { return at_.y + choice_row_height(context_) - top; }

 private:
  float width_of(const HandOption& option) const {
    return choice_row_width(context_, std::span(&option.words, 1)) + context_.px(3);
  }
  void new_line() { at_ = {left_, at_.y + choice_row_height(context_) + context_.px(4)}; }

  bool draw_one(const char* id, const HandOption& option) {
    if (option.possible)
      return choice_row(context_, id, at_, std::span(&option.words, 1), option.taken ? 0 : -1) == 0;
    // It cannot be chosen with these cuts; a click says what it needs.
    const ImVec2 size{width_of(option) - context_.px(3), choice_row_height(context_)};
    ImGui::PushID(id);
    ImGui::SetCursorScreenPos(at_);
    const bool clicked = click_area(option.words.c_str(), size);
    ImGui::PopID();
    draw_text(ImGui::GetWindowDrawList(), {at_.x + size.x / 2, at_.y + (size.y - type_.note.size) / 2},
              in(type_.note, context_.theme.faint), option.words, Align::Centre);
    return clicked;
  }

  const Context& context_;
  const Type type_;
  const float left_, width_;
  ImVec2 at_;
};

constexpr std::array kCuts{Cut::Column, Cut::Row, Cut::Replicated};
constexpr std::array kStreams{NormCut::Replicated, NormCut::Parallel, NormCut::Sequence};
constexpr std::array kFirstNumbers{lab::HandNumbers::Chosen, lab::HandNumbers::Identity,
                                   lab::HandNumbers::Ones, lab::HandNumbers::Random};

/// Draws a choice between values of an enum, and sets the one that was clicked.
template <class Value, size_t n>
void choose_value(HandChoices& choices, const char* id, const char* label, const std::array<Value, n>& values,
                  const std::array<const char*, n>& words, Value& value) {
  std::vector<HandOption> options;
  for (size_t i = 0; i < n; ++i) options.push_back({words[i], values[i] == value});
  if (const int clicked = choices.draw(id, label, options); clicked >= 0)
    value = values[static_cast<size_t>(clicked)];
}

void choose_numbers(HandChoices& choices, ByHandView& view) {
  std::vector<HandOption> options{{"example"}, {"identity"}, {"ones"}, {"random"}};
  for (size_t i = 0; i < kFirstNumbers.size(); ++i)
    options[i].taken = view.form.operands == lab::hand_operands(kFirstNumbers[i], view.seed);
  const int clicked = choices.draw("numbers", "numbers", options);
  if (clicked < 0) return;
  const lab::HandNumbers numbers = kFirstNumbers[static_cast<size_t>(clicked)];
  if (numbers == lab::HandNumbers::Random) ++view.seed;  // others with every click
  view.form.operands = lab::hand_operands(numbers, view.seed);
  view.typed.clear();
  view.refused.clear();
}

/// Short enough for a row of choices; the laboratory's own words for the same mistakes.
const char* mistake_words(Fault mistake) {
  switch (mistake) {
    case Fault::SkipG:
      return "g's all-reduce left out";
    case Fault::SkipF:
      return "f's all-reduce left out";
    case Fault::BiasBeforeReduction:
      return "bias on every rank";
    case Fault::GeluOnPartial:
      return "GeLU before the sum";
    default:
      return "a copy is summed";
  }
}

/// lab::can_have(), asked once for each choice of cuts.
bool is_possible(lab::HandChoice choice, Fault mistake) {
  static Cache<lab::HandChoice, std::vector<Fault>> known;
  choice.mistake.reset();
  const std::vector<Fault>& possible = known.of(choice, [&] {
    std::vector<Fault> faults;
    for (const Fault fault : lab::hand_mistakes())
      if (lab::can_have(choice, fault)) faults.push_back(fault);
    return faults;
  });
  return std::find(possible.begin(), possible.end(), mistake) != possible.end();
}

void choose_mistake(HandChoices& choices, ByHandView& view) {
  std::optional<Fault>& mistake = view.form.choice.mistake;
  const std::span<const Fault> all = lab::hand_mistakes();
  std::vector<HandOption> options{{"none", !mistake}};
  for (const Fault fault : all)
    options.push_back({mistake_words(fault), mistake == fault, is_possible(view.form.choice, fault)});
  // Other cuts have other places for mistakes.
  if (mistake && !is_possible(view.form.choice, *mistake)) mistake.reset();
  const int clicked = choices.draw("mistake", "mistake", options);
  if (clicked == 0) mistake.reset();
  if (clicked <= 0) return;
  const Fault fault = all[static_cast<size_t>(clicked) - 1];
  view.refused.clear();
  if (options[static_cast<size_t>(clicked)].possible)
    mistake = fault;
  else
    view.refused = fmt::format("“{}” needs {}: cut the matrices otherwise{}", mistake_words(fault),
                               facts_of(fault).needs, view.form.choice.gelu ? "" : ", or take GeLU");
}

}  // namespace

float draw_hand_choices(const Context& context, ImVec2 at, float width) {
  ByHandView& view = context.view.of<ByHandView>();
  lab::HandChoice& choice = view.form.choice;
  HandChoices choices(context, at, width);
  const std::array<const char*, 3> cuts{"by columns", "by rows", "whole"};
  choose_value(choices, "Wfc", "Wfc", kCuts, cuts, choice.fc);
  choose_value(choices, "Wproj", "Wproj", kCuts, cuts, choice.proj);
  choose_value(choices, "stream", "X and Y", kStreams, {"whole", "by columns", "by tokens"}, choice.stream);
  choose_value(choices, "activation", "activation", std::array{true, false}, {"GeLU", "none: G = H"},
               choice.gelu);
  choose_numbers(choices, view);
  choose_mistake(choices, view);
  return choices.height(at.y) + context.px(8);
}

}  // namespace shardlens::ui
