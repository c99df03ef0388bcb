// The Inspector's figures: a table with names at the left and values at the right. A value is measured if it
// can be.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/runtime/core_sharing.h"
#include "ui/panels/inspector/inspector.h"
#include "ui/panels/tensor_words.h"
#include "ui/plan/measured.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"

namespace shardlens::ui {
namespace {

constexpr float kWidestFacts = 440;  ///< in a wider panel a value would be too far from its name

float row_height(const Context& context) {
  return context.px(22);
}

/// A pen for a table at the place of `pen`, no wider than a table is legible.
Pen table_pen(const Context& context, const Pen& pen) {
  return {pen.list, pen.x, pen.y, std::min(pen.width, context.px(kWidestFacts))};
}

void draw_fact(const Context& context, Pen& pen, std::string_view name, std::string_view value) {
  const TextStyle label = small_text(context, context.theme.dim);
  const TextStyle figure = mono_text(context, context.theme.text);
  draw_text(pen.list, {pen.x, pen.y}, label, name);
  const float room = pen.width - text_width(label, name) - context.px(12);
  if (text_width(figure, value) > room) pen.y += row_height(context);  // too long: on a line of its own
  draw_text(pen.list, {pen.x + pen.width, pen.y}, figure, fitted(figure, value, pen.width), Align::Right);
  pen.facts.rows.push_back({std::string(name), std::string(value)});
  pen.y += row_height(context);
}

/// Draws a row of tensors. A click on one selects it. Each after the first is on a line of its own.
void draw_links(const Context& context, const Subject& subject, Pen& pen, const char* name,
                const std::vector<std::pair<TensorId, std::string>>& links) {
  draw_text(pen.list, {pen.x, pen.y}, small_text(context, context.theme.dim), name);
  const TextStyle style = mono_text(context, context.theme.text);
  int index = 0;
  for (const auto& [id, text] : links) {
    pen.facts.rows.push_back({index == 0 ? name : "", text});
    const std::string shown = fitted(style, text, pen.width - context.px(64));
    const float width = text_width(style, shown);
    const float x = pen.x + pen.width - width;
    ImGui::SetCursorScreenPos({x, pen.y - context.px(2)});
    if (ImGui::InvisibleButton(fmt::format("{} {}", name, index++).c_str(),
                               {std::max(width, 1.0f), row_height(context)})) {
      select_tensor(context.view, subject.program(), id);
    }
    const bool hovered = ImGui::IsItemHovered();
    TextStyle own = style;
    if (hovered) {
      own.colour = context.theme.forward;
      ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
      show_tooltip(context, "Go to " + subject.program().tensor(id).name);
    }
    draw_text(pen.list, {x, pen.y}, own, shown);
    pen.y += row_height(context);
  }
  if (links.empty()) pen.y += row_height(context);
}

/// The inputs of the step that makes the tensor, with layouts.
std::vector<std::pair<TensorId, std::string>> needs(const Subject& subject) {
  std::vector<std::pair<TensorId, std::string>> links;
  const StepId producer = producer_of(subject.program(), subject.tensor_id);
  if (producer < 0) return links;
  for (const TensorId id : subject.program().step(producer).inputs) {
    const Tensor& input = subject.program().tensor(id);
    const std::string layout = subject.tp() == 1 ? "" : " " + to_string(input.layout);
    links.emplace_back(id, input.symbol + layout);
  }
  return links;
}

/// The outputs of the steps that read the tensor.
std::vector<std::pair<TensorId, std::string>> feeds(const Subject& subject) {
  std::vector<std::pair<TensorId, std::string>> links;
  for (const StepId reader : consumers_of(subject.program(), subject.tensor_id)) {
    const Step& step = subject.program().step(reader);
    if (step.outputs.empty()) continue;
    const Tensor& output = subject.program().tensor(step.outputs.front());
    const char* mark = step.conjugate == Conjugate::F ? "f, " : step.conjugate == Conjugate::G ? "g, " : "";
    links.emplace_back(output.id,
                       fmt::format("{}{}", mark, step.equation.empty() ? step.name : step.equation));
  }
  return links;
}

/// Statistics over all ranks: the extremes over all ranks, the mean and rms of all elements together.
TensorStats over_ranks(const Subject& subject) {
  TensorStats all;
  double sum = 0, squares = 0;
  for (const auto& sample : subject.samples) {
    if (!sample) continue;
    const TensorStats& own = sample->stats;
    const double finite = static_cast<double>(own.count - own.nan_count);
    if (finite > 0) {
      const bool first = all.count == all.nan_count;
      all.min = first ? own.min : std::min(all.min, own.min);
      all.max = first ? own.max : std::max(all.max, own.max);
    }
    sum += own.mean * finite;
    squares += own.rms * own.rms * finite;
    all.count += own.count;
    all.nan_count += own.nan_count;
  }
  const double finite = static_cast<double>(all.count - all.nan_count);
  if (finite > 0) {
    all.mean = sum / finite;
    all.rms = std::sqrt(squares / finite);
  }
  return all;
}

void draw_statistics(const Context& context, const Subject& subject, Pen& pen) {
  if (!subject.has_samples()) return;
  const TensorStats all = over_ranks(subject);
  draw_fact(context, pen, "min … max", fmt::format("{} … {}", format_value(all.min), format_value(all.max)));
  draw_fact(context, pen, "mean, rms", fmt::format("{}, {}", format_value(all.mean), format_value(all.rms)));
  if (all.nan_count > 0) draw_fact(context, pen, "not finite", grouped_text(all.nan_count));
}

void draw_parity(const Context& context, const Subject& subject, Pen& pen) {
  if (!subject.parity || !subject.parity->compared) return;
  const TensorParity& parity = *subject.parity;
  draw_fact(context, pen, "error against serial",
            fmt::format("{} of bound {}{}", format_error(parity.relative_error), format_error(parity.bound),
                        parity.relative_to_terms ? ", of its terms" : ""));
  if (!parity.ranks_identical) draw_fact(context, pen, "replicas", "differ between ranks");
  const std::string place = place_words(parity.replica, parity.rank);
  if (!parity.within_bound() && !place.empty()) draw_fact(context, pen, "largest error on", place);
}

/// The slowest rank's time in the selected step, measured or estimated.
void draw_time(const Context& context, const Subject& subject, Pen& pen) {
  if (subject.step < 0) return;
  const size_t step = static_cast<size_t>(subject.step);
  double seconds = 0, flops = 0;
  const bool measured = subject.result && subject.result->timed;
  if (measured) {
    for (const auto& rank : subject.result->events) {
      if (step >= rank.size() || rank[step].seconds() < seconds) continue;
      seconds = rank[step].seconds();
      flops = static_cast<double>(rank[step].flops);
    }
  } else {
    for (const auto& rank : subject.plan->cost) {
      if (step >= rank.size() || rank[step].predicted_seconds < seconds) continue;
      seconds = rank[step].predicted_seconds;
      flops = static_cast<double>(rank[step].flops);
    }
  }
  if (seconds <= 0) return;
  std::string text = measured ? measured_text(seconds, subject.result.get()) : format_seconds(seconds);
  if (flops > 0 && !text.starts_with('<')) text += "  ·  " + format_flops(flops / seconds);
  const bool replayed = measured && subject.result->replayed;
  std::string what = "this step";
  if (replayed) what += std::string(", ") + subject.result->how();
  if (subject.tp() > 1) what += replayed ? ", slowest" : ", slowest rank";
  draw_fact(context, pen, measured ? what : "this step, estimated", text);
}

TextTable meeting_table(const Result& result, size_t step) {
  const std::vector<std::vector<StepEvent>>& ranks = result.events;
  TextTable table{{{"rank", Align::Right}, {"wait", Align::Right}, {"transfer", Align::Right}}, {}};
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (step >= ranks[rank].size()) continue;
    const StepEvent& event = ranks[rank][step];
    table.rows.push_back({std::to_string(rank), measured_text(event.wait_seconds(), &result),
                          measured_text(event.transfer_seconds(), &result)});
  }
  return table;
}

}  // namespace

void draw_facts(const Context& context, const Subject& subject, Pen& page) {
  Pen pen = table_pen(context, page);
  const float top = pen.y;
  const std::vector<ShapeLine> lines = shape_lines(subject.tensor(), subject.tp());
  for (const ShapeLine& line : lines) draw_fact(context, pen, "shape, " + line.who, to_string(line.shape));
  const bool cut = subject.tp() > 1 && subject.tensor().layout.kind == LayoutKind::Sharded;
  if (cut) draw_fact(context, pen, "of the full", to_string(subject.tensor().shape));
  draw_fact(context, pen, "bytes, " + lines.front().who,
            fmt::format("{}  {}", grouped_text(lines.front().bytes), to_string(subject.tensor().dtype)));
  draw_statistics(context, subject, pen);
  if (const auto links = needs(subject); !links.empty()) draw_links(context, subject, pen, "needs", links);
  if (const auto links = feeds(subject); !links.empty()) draw_links(context, subject, pen, "feeds", links);
  draw_parity(context, subject, pen);
  draw_time(context, subject, pen);
  copyable_table("facts", {pen.x, top}, {pen.x + pen.width, pen.y}, [&] { return pen.facts; });
  page.y = pen.y;
}

void draw_collective_facts(const Context& context, const Subject& subject, Pen& page) {
  Pen pen = table_pen(context, page);
  const Theme& theme = context.theme;
  const Step& step = subject.program().step(subject.step);
  const size_t id = static_cast<size_t>(subject.step);
  const float facts_top = pen.y;
  const bool one = step.outputs.size() == 1;
  draw_fact(context, pen, one ? "tensor" : converted_words(subject.program(), step) + ", together",
            bytes_text(static_cast<double>(converted_bytes(subject.program(), step, 0))));
  draw_fact(context, pen, "each rank sends, ring",
            fmt::format("{}  {}", grouped_text(sent_bytes(subject.program(), step.id)),
                        bytes_text(static_cast<double>(sent_bytes(subject.program(), step.id)))));
  if (subject.result.get()) {
    const CommunicatorInfo& info = subject.result->communicator;
    if (!info.name.empty())
      draw_fact(context, pen, "communicator", fmt::format("{}: {}", info.name, info.reason));
  }
  copyable_table("collective", {pen.x, facts_top}, {pen.x + pen.width, pen.y}, [&] { return pen.facts; });
  const bool measured = subject.result && subject.result->timed;
  if (!measured) {
    page.y = pen.y + context.px(8);
    return;
  }
  // One bar for each rank, from its arrival: waiting is faint, transfer is solid. All on one clock, which
  // begins when the first rank arrives, so the last rank's bar begins where the waiting of the others ends.
  double first = std::numeric_limits<double>::infinity(), last = -first;
  for (const auto& rank : subject.result->events) {
    if (id >= rank.size()) continue;
    first = std::min(first, rank[id].arrival_seconds);
    last = std::max(last, rank[id].end_seconds);
  }
  const TextStyle label = small_text(context, theme.dim);
  const TextStyle figure = mono_text(context, theme.text);
  const float row = row_height(context);
  const float ranks_top = pen.y;
  const float bar_x = pen.x + context.px(60);
  const float bar_width = pen.width - context.px(60) - context.px(136);
  draw_text(pen.list, {pen.x + pen.width - context.px(68), pen.y}, label, "wait", Align::Right);
  draw_text(pen.list, {pen.x + pen.width, pen.y}, label, "transfer", Align::Right);
  pen.y += row;
  for (size_t rank = 0; rank < subject.result->events.size(); ++rank) {
    if (id >= subject.result->events[rank].size()) continue;
    const StepEvent& event = subject.result->events[rank][id];
    draw_text(pen.list, {pen.x, pen.y}, small_bold_text(context, theme.rank_outlines[rank % 8]),
              fmt::format("rank {}", rank));
    const float scale = last > first ? bar_width / static_cast<float>(last - first) : 0;
    const float arrived_x = bar_x + static_cast<float>(event.arrival_seconds - first) * scale;
    const float wait = static_cast<float>(event.wait_seconds()) * scale;
    const float transfer = std::max(static_cast<float>(event.transfer_seconds()) * scale, context.px(1));
    const float top = pen.y + context.px(2), bottom = pen.y + context.px(12);
    fill_rect(pen.list, {arrived_x, top}, {arrived_x + wait, bottom}, faded(theme.communication, 0.28f));
    fill_rect(pen.list, {arrived_x + wait, top}, {arrived_x + wait + transfer, bottom}, theme.communication);
    draw_text(pen.list, {pen.x + pen.width - context.px(68), pen.y}, figure,
              measured_text(event.wait_seconds(), subject.result.get()), Align::Right);
    draw_text(pen.list, {pen.x + pen.width, pen.y}, figure,
              measured_text(event.transfer_seconds(), subject.result.get()), Align::Right);
    pen.y += row;
  }
  copyable_table("ranks", {pen.x, ranks_top}, {pen.x + pen.width, pen.y},
                 [&] { return meeting_table(*subject.result, id); });
  if (const std::string shared = core_sharing_words(*subject.result.get()); !shared.empty())
    pen.y += draw_wrapped(pen.list, {pen.x, pen.y}, small_text(context, theme.text), shared, pen.width);
  page.y = pen.y + context.px(12);
}

}  // namespace shardlens::ui
