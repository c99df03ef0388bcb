// The Inspector: the selected tensor on all ranks. Its equation, its layout in words, a picture per rank, the
// sum of the ranks against the serial run, and its figures. Everything shown is read from the Program and the
// run's samples.
#include "ui/panels/inspector/inspector.h"

#include <fmt/format.h>
#include <imgui_internal.h>

#include <algorithm>
#include <cmath>

#include "engine/runtime/recordings/replay_snapshot.h"
#include "ui/collective/inside.h"
#include "ui/panels/inspector/inspector_view.h"
#include "ui/panels/panels.h"
#include "ui/panels/tensor_words.h"
#include "ui/plan/shown_plan.h"
#include "ui/product/product_view.h"
#include "ui/stage/meeting.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"

namespace shardlens::ui {
namespace {

bool belongs_to(const Step& step, TensorId tensor) {
  const auto has = [tensor](const std::vector<TensorId>& ids) {
    return std::find(ids.begin(), ids.end(), tensor) != ids.end();
  };
  return has(step.inputs) || has(step.outputs);
}

/// True if the run has not reached `step` yet. A replayed recording has the values of a whole pass at once,
/// so the values of later steps are hidden, as on the Stage.
bool is_ahead(const Snapshot& snapshot, StepId step) {
  return step >= 0 && !shows_stale(snapshot) && static_cast<size_t>(step) >= snapshot.position;
}

/// The selected tensor, in the plan that is on the screen.
Subject subject_of(const Context& context) {
  const Snapshot& snapshot = context.snapshot;
  Subject subject;
  subject.result = shown_result(snapshot);
  subject.plan = shared_shown_plan(snapshot);
  if (!subject.plan) return subject;
  const Program& program = subject.program();
  const StepId step = context.view.selected_step;
  if (step >= 0 && step < static_cast<StepId>(program.steps.size())) subject.step = step;
  TensorId tensor = context.view.selected_tensor;
  if (tensor < 0 || tensor >= static_cast<TensorId>(program.tensors.size())) tensor = kNoTensor;
  // The step decides: a tensor left over from another step or program is replaced by the step's own output.
  if (subject.step >= 0) {
    const Step& selected = program.step(subject.step);
    if (tensor == kNoTensor || !belongs_to(selected, tensor)) {
      tensor = selected.outputs.empty() ? kNoTensor : selected.outputs.front();
    }
  }
  subject.tensor_id = tensor;
  if (tensor == kNoTensor) return subject;
  subject.samples.resize(static_cast<size_t>(subject.tp()));
  if (!subject.result || is_ahead(snapshot, producer_of(program, tensor))) return subject;
  const size_t id = static_cast<size_t>(tensor);
  for (size_t rank = 0; rank < subject.samples.size() && rank < subject.result->samples.size(); ++rank) {
    if (id < subject.result->samples[rank].size()) subject.samples[rank] = subject.result->samples[rank][id];
  }
  if (id < subject.result->parity.size()) subject.parity = subject.result->parity[id];
  if (subject.has_samples()) subject.scale = context.heatmaps.scale(subject.samples);
  return subject;
}

/// Zoomed in on values, colours must follow the values: the pictures' block means are smaller.
void follow_zoom(const Context& context, Subject& subject) {
  subject.zoom = zoom_of(context, subject);
  if (!subject.zoom.near) return;
  double largest = 0, squares = 0, count = 0;
  for (const auto& sample : subject.samples) {
    if (!sample) continue;
    const TensorStats& stats = sample->stats;
    largest = std::max({largest, std::abs(stats.min), std::abs(stats.max)});
    squares += stats.rms * stats.rms * static_cast<double>(stats.count);
    count += static_cast<double>(stats.count);
  }
  const double limit = count > 0 ? std::min(largest, 3 * std::sqrt(squares / count)) : 0;
  if (limit > 0) subject.scale.limit = limit;
}

std::string provenance_of(const Context& context, const Subject& subject) {
  if (shows_stale(context.snapshot)) return "out of date";
  if (seen_break(context)) return "sound and broken run, measured";
  const bool replayed = subject.result && subject.result->replayed;
  if (!subject.has_samples() && !replayed) return subject.plan ? "planned" : "";
  if (!replayed || !subject.has_samples()) return subject.result->provenance;
  const auto id = static_cast<size_t>(subject.tensor_id);
  const std::vector<int64_t>& sampled_in = subject.result->sampled_in;
  const bool here = id >= sampled_in.size() || sampled_in[id] == context.replay.pass;
  // A recording keeps pictures only of some passes. The Bar already says that everything is replayed.
  return here ? subject.result->provenance
              : fmt::format("values last kept in pass {}", grouped_text(sampled_in[id]));
}

/// Returns the longest of these that fits: all of it; without the machine's name; without the source of the
/// times, which does not concern these values.
std::string fitting(const TextStyle& style, const std::string& provenance, float room) {
  std::string words = provenance;
  if (const size_t colon = provenance.find(": ");
      colon != std::string::npos && text_width(style, words) > room)
    return fitted(style, provenance.substr(colon + 2), room);
  for (const char* end : {" on ", ", times"}) {
    if (text_width(style, words) <= room) break;
    words = provenance.substr(0, provenance.find(end));
  }
  return fitted(style, words, room);
}

void draw_head(const Context& context, const Subject& subject, Pen& pen) {
  const Theme& theme = context.theme;
  const TextStyle title = bold_text(context, theme.text);
  draw_text(pen.list, {pen.x, pen.y}, title, "Inspector");
  const TextStyle small = small_text(context, theme.dim);
  const float room = pen.width - text_width(title, "Inspector") - context.px(16);
  draw_text(pen.list, {pen.x + pen.width, pen.y + context.px(1)}, small,
            fitting(small, provenance_of(context, subject), room), Align::Right);
  pen.y += title.size + context.px(14);
}

/// Equation in the largest size that fits, then what the tensor is.
void draw_title(const Context& context, const Subject& subject, Pen& pen) {
  const Theme& theme = context.theme;
  const bool collective = subject.step >= 0 && is_conversion(subject.program().step(subject.step).op);
  std::string equation = subject.tensor().symbol;
  if (subject.step >= 0) {
    const Step& step = subject.program().step(subject.step);
    const bool is_output =
        std::find(step.outputs.begin(), step.outputs.end(), subject.tensor_id) != step.outputs.end();
    if (collective) {
      equation = step.name;
    } else if (is_output && !step.equation.empty()) {
      equation = step.equation;
    }
  }
  TextStyle style{collective ? context.fonts.bold : context.fonts.mono, context.px(19), theme.text};
  // f and g by name, as in the Stage's gutter.
  const std::string letter =
      subject.step >= 0 ? stage::letter_of(subject.program().step(subject.step).conjugate) : std::string();
  const TextStyle mark{context.fonts.italic, context.px(23),
                       subject.step >= 0 && is_collective(subject.program().step(subject.step).op)
                           ? theme.communication
                           : theme.text};
  const float aside = letter.empty() ? 0 : text_width(mark, letter) + context.px(10);
  draw_text(pen.list, {pen.x, pen.y - context.px(3)}, mark, letter);
  while (style.size > context.px(kBodySize) && text_width(style, equation) > pen.width - aside)
    style.size -= 1;
  pen.y += draw_wrapped(pen.list, {pen.x + aside, pen.y}, style, equation, pen.width - aside) + context.px(6);
  pen.y += draw_wrapped(pen.list, {pen.x, pen.y}, small_text(context, theme.dim),
                        describe(subject.program(), subject.tensor()), pen.width) +
           context.px(10);
}

/// One clickable symbol for each tensor of the step: what it reads, an arrow, what it writes.
void draw_chooser(const Context& context, const Subject& subject, Pen& pen) {
  if (subject.step < 0) return;
  const Theme& theme = context.theme;
  const Step& step = subject.program().step(subject.step);
  if (step.inputs.size() + step.outputs.size() < 2) return;
  const float height = context.px(24);
  const float gap = context.px(4);
  float x = pen.x;
  const auto advance_line = [&](float width) {
    if (x + width <= pen.x + pen.width || x == pen.x) return;
    x = pen.x;
    pen.y += height + gap;
  };
  const auto chip = [&](TensorId id, const char* side) {
    const Tensor& tensor = subject.program().tensor(id);
    const bool selected = id == subject.tensor_id;
    const TextStyle style = mono_text(context, theme.text);
    const float width = text_width(style, tensor.symbol) + context.px(16);
    advance_line(width);
    ImGui::SetCursorScreenPos({x, pen.y});
    if (ImGui::InvisibleButton(fmt::format("{}:{}", side, tensor.name).c_str(), {width, height})) {
      set_selection(context.view, subject.program(), {subject.step, id});
    }
    const bool hovered = ImGui::IsItemHovered();
    const ImVec2 min{x, pen.y}, max{x + width, pen.y + height};
    fill_rect(pen.list, min, max, hovered || selected ? theme.line : theme.card, context.px(4));
    if (selected)
      outline_rect(pen.list, min, max, theme.forward, context.px(4), std::max(1.0f, context.px(1.5f)));
    if (subject.tp() > 1 && tensor.layout.kind == LayoutKind::Partial && !selected) {
      draw_dashed_rect(pen.list, min, max, theme.communication, std::max(1.0f, context.px(1)), context.px(3));
    }
    draw_text(pen.list, {x + context.px(8), pen.y + (height - style.size) / 2}, style, tensor.symbol);
    if (hovered) {
      show_tooltip(context,
                   fmt::format("{}\n{} {}", tensor.name, to_string(tensor.shape), to_string(tensor.layout)));
    }
    x += width + gap;
  };
  for (const TensorId id : step.inputs) chip(id, "reads");
  const TextStyle arrow = small_text(context, theme.dim);
  if (!step.inputs.empty() && !step.outputs.empty()) {
    advance_line(context.px(24));
    draw_text(pen.list, {x + context.px(4), pen.y + (height - arrow.size) / 2}, arrow, "→");
    x += context.px(8) + text_width(arrow, "→") + gap;
  }
  for (const TensorId id : step.outputs) chip(id, "writes");
  pen.y += height + context.px(12);
}

}  // namespace

void draw_card(const Context& context, Pen& pen, const std::string& title, ImU32 title_colour,
               const std::vector<std::string>& sentences, ImU32 outline, bool dashed) {
  const float pad = context.px(12);
  const TextStyle head = bold_text(context, title_colour);
  const TextStyle text = small_text(context, context.theme.text);
  float height = pad + head.size + context.px(4);
  for (const std::string& sentence : sentences) {
    height += wrapped_height(text, sentence, pen.width - 2 * pad) + context.px(2);
  }
  height += context.px(8);
  const ImVec2 min{pen.x, pen.y}, max{pen.x + pen.width, pen.y + height};
  fill_rect(pen.list, min, max, context.theme.card, context.px(6));
  if (dashed) {
    draw_dashed_rect(pen.list, min, max, outline, std::max(1.0f, context.px(1.5f)), context.px(5));
  } else if (outline != 0) {
    outline_rect(pen.list, min, max, outline, context.px(6), std::max(1.0f, context.px(1)));
  }
  float y = pen.y + context.px(10);
  draw_text(pen.list, {pen.x + pad, y}, head, title);
  y += head.size + context.px(4);
  for (const std::string& sentence : sentences) {
    y += draw_wrapped(pen.list, {pen.x + pad, y}, text, sentence, pen.width - 2 * pad) + context.px(2);
  }
  pen.y += height + context.px(12);
}

namespace {

/// Says whether the layout's promise was kept: the hashes are equal if every rank must hold the same bits.
std::string checked_promise(const Subject& subject) {
  if (subject.tp() == 1 || subject.tensor().layout.kind != LayoutKind::Replicated) return {};
  for (const auto& sample : subject.samples) {
    if (!sample) return {};
  }
  const char* how = subject.result->live ? "Live" : subject.result->replayed ? "Replayed" : "Measured";
  for (size_t rank = 1; rank < subject.samples.size(); ++rank) {
    if (subject.samples[rank]->hash != subject.samples[0]->hash) {
      return fmt::format("{}: rank {} differs from rank 0.", how, rank);
    }
  }
  return fmt::format("{}: {} equal hashes, {:016x}.", how, subject.tp(), subject.samples[0]->hash);
}

}  // namespace

void draw_layout_card(const Context& context, const Subject& subject, Pen& pen) {
  const Theme& theme = context.theme;
  const Tensor& tensor = subject.tensor();
  std::vector<std::string> sentences{layout_sentence(tensor, subject.tp())};
  if (const std::string promise = checked_promise(subject); !promise.empty()) sentences.push_back(promise);
  const bool partial = subject.is_partial();
  draw_card(context, pen, layout_title(tensor, subject.tp()), partial ? theme.communication : theme.text,
            sentences, partial ? theme.communication : 0, partial);
}

namespace {

/// A line that goes to the other half of f or g, which acts in the other pass.
void draw_other_half(const Context& context, const Subject& subject, Pen& pen) {
  const Step& step = subject.program().step(subject.step);
  if (step.pair < 0) return;
  const Step& half = subject.program().step(step.pair);
  const std::string words = fmt::format("{} in the {} pass: {}", stage::letter_of(half.conjugate),
                                        to_string(half.phase), half.name);
  TextStyle style = small_text(context, context.theme.forward);
  ImGui::SetCursorScreenPos({pen.x, pen.y});
  if (click_area("other half", {std::min(text_width(style, words), pen.width), context.px(20)})) {
    show_step(context.view, subject.program(), half.id);
  }
  if (ImGui::IsItemHovered()) {
    style.colour = context.theme.text;
    ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
  }
  draw_text(pen.list, {pen.x, pen.y}, style, fitted(style, words, pen.width));
  pen.y += context.px(28);
}

/// Why the ranks meet at this step or, if they do not, why not. A collective also has its figures.
void draw_reasons(const Context& context, const Subject& subject, Pen& pen) {
  const Program& program = subject.program();
  const Theme& theme = context.theme;
  const bool converts = subject.step >= 0 && is_conversion(program.step(subject.step).op);
  if (!converts) {
    const std::string why = explain_no_collective(program, subject.tensor_id);
    if (!why.empty()) draw_card(context, pen, "Why the ranks do not meet here", theme.text, {why}, 0, false);
    return;
  }
  const bool sends = is_collective(program.step(subject.step).op);
  std::vector<std::string> sentences{stage::reason_of(program, subject.step)};
  if (!sends && program.step(subject.step).op == Op::Identity)
    sentences.push_back(stage::line_sentence(program, program.step(subject.step)) + ".");
  draw_card(context, pen, sends ? "Why it is here" : "Why nothing moves here",
            sends ? theme.communication : theme.text, sentences, sends ? theme.communication : 0, false);
  draw_other_half(context, subject, pen);
  if (!sends) return;
  if (can_look_inside(context)) {
    ImGui::SetCursorScreenPos({pen.x, pen.y});
    if (draw_button(context, "look inside", "Look inside, hop by hop", ButtonLook::Plain, true,
                    inside_hint()))
      look_inside(context, subject.step);
    pen.y += context.px(kControlHeight + 12);
  }
  draw_collective_facts(context, subject, pen);
}

/// A step can be opened on the Stage: its derivation, and of a product its matrices or the making of one
/// number.
void draw_opener(const Context& context, const Subject& subject, Pen& pen) {
  if (subject.step < 0) return;
  float x = pen.x;
  const auto button = [&](const char* id, const char* text, const std::string& help) {
    const float width = button_width(context, text), height = context.px(kControlHeight);
    if (x > pen.x && x + width > pen.x + pen.width) {
      x = pen.x;
      pen.y += height + context.px(8);
    }
    ImGui::SetCursorScreenPos({x, pen.y});
    x += width + context.px(8);
    return draw_button(context, id, text, ButtonLook::Plain, true, help);
  };
  const bool number = can_open_number(context);
  if (can_open_row(context) &&
      button("open row", number ? "How one number is made" : "Open its heads",
             number ? "Each rank's row, column and term of one number. A click on a number in a zoomed "
                      "picture shows how that one was made."
                    : "Scores and probabilities of every head, rank by rank"))
    number ? open_largest_number(context) : open_or_close_row(context);
  if (can_derive(context) &&
      button("derivation", "Derivation", "This step line by line, with block matrices and this run's sizes"))
    open_or_close_derivation(context);
  pen.y += context.px(kControlHeight) + context.px(12);
}

void draw_nothing_selected(const Context& context, const Subject& subject, Pen& pen) {
  const Theme& theme = context.theme;
  const TextStyle text = body_text(context, theme.dim);
  const char* const lines[] = {
      "Click a tensor on the Stage to see it on every rank: its values, its layout, and its error against "
      "one rank.",
      "Click an amber band to read why the ranks communicate there, and what it costs."};
  if (!subject.plan) {
    pen.y += draw_wrapped(pen.list, {pen.x, pen.y}, text,
                          "These settings have no plan, so there is nothing to inspect.", pen.width);
    return;
  }
  for (const char* line : lines)
    pen.y += draw_wrapped(pen.list, {pen.x, pen.y}, text, line, pen.width) + context.px(8);
}

}  // namespace

bool Subject::has_samples() const {
  return std::any_of(samples.begin(), samples.end(), [](const auto& sample) { return sample != nullptr; });
}

void select_tensor(ViewState& view, const Program& program, TensorId tensor) {
  StepId step = producer_of(program, tensor);
  if (step < 0) {
    const std::vector<StepId> readers = consumers_of(program, tensor);
    if (readers.empty()) return;
    step = readers.front();
  }
  show_step(view, program, step);
  set_selection(view, program, {step, tensor});
}

void draw_inspector(const Context& context) {
  Subject subject = subject_of(context);
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  // The width always leaves room for a scroll bar. A picture's height follows its width, so otherwise the bar
  // could appear and disappear with every frame.
  const ImGuiWindow& window = *ImGui::GetCurrentWindow();
  const float room =
      ImGui::GetContentRegionAvail().x - (window.ScrollbarY ? 0.0f : ImGui::GetStyle().ScrollbarSize);
  Pen pen{ImGui::GetWindowDrawList(), origin.x, origin.y, room};
  draw_head(context, subject, pen);
  if (!subject.plan || subject.tensor_id == kNoTensor) {
    draw_nothing_selected(context, subject, pen);
  } else {
    follow_zoom(context, subject);
    draw_title(context, subject, pen);
    draw_chooser(context, subject, pen);
    draw_reasons(context, subject, pen);
    if (const auto seen = seen_break(context)) {
      draw_broken_run(context, subject, *seen, pen);
    } else {
      draw_layout_card(context, subject, pen);
      draw_opener(context, subject, pen);
      draw_rank_pictures(context, subject, pen);
      draw_colour_bar(context, subject, pen);
      draw_against_serial(context, subject, pen);
      draw_derivation(context, subject, pen);
    }
    draw_facts(context, subject, pen);
  }
  ImGui::SetCursorScreenPos({origin.x, pen.y});
  ImGui::Dummy({1, context.px(8)});
}

}  // namespace shardlens::ui
