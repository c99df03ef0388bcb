// The derivation of the selected step in the Inspector.
#include "ui/panels/inspector/inspector.h"
#include "ui/product/derivation_page.h"
#include "ui/widgets/controls.h"

namespace shardlens::ui {
namespace {

constexpr float kLeastWidth = 480;  ///< at scale 1; in less, formulas would be too small to read
constexpr float kSymbol = 20;

}  // namespace

void draw_derivation(const Context& context, const Subject& subject, Pen& pen) {
  const std::shared_ptr<const Derivation> derivation = derivation_of_selection(context);
  if (subject.step < 0 || !derivation || pen.width < context.px(kLeastWidth)) return;
  const TextStyle bold{context.fonts.bold, context.px(kBodySize), context.theme.text};
  draw_text(pen.list, {pen.x, pen.y}, bold, "Derivation");
  const char* const copy = "Copy as LaTeX";
  ImGui::SetCursorScreenPos({pen.x + pen.width - button_width(context, copy), pen.y - context.px(6)});
  if (draw_button(context, "copy latex", copy, ButtonLook::Plain, true,
                  "An align* environment, which needs only amsmath"))
    copy_as_latex(*derivation);
  pen.y += context.px(kControlHeight + 4);
  pen.y += draw_derivation_lines(context, *derivation, {pen.x, pen.y}, pen.width, 0, context.px(kSymbol));
  pen.y += context.px(12);
}

}  // namespace shardlens::ui
