// Draws the price of the collective by the chosen hardware's alpha and beta, and beside it what was measured:
// a bar for each rank, never an average. It says what ran here, from the run's facts.
#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "engine/base/units.h"
#include "engine/cost/price.h"
#include "engine/runtime/core_sharing.h"
#include "ui/collective/parts.h"
#include "ui/panels/bar/bar_chips.h"
#include "ui/panels/parts.h"
#include "ui/panels/traffic/traffic_parts.h"
#include "ui/plan/measured.h"
#include "ui/widgets/format.h"
#include "ui/widgets/within.h"

namespace shardlens::ui::collective {
namespace {

using stage::Rect;

constexpr float kBarRow = 23;
constexpr float kTwoColumns = 8;  ///< more ranks are listed in two columns

/// One rank's times in the step, from the first arrival in the group.
struct RankTimes {
  int index = 0;  ///< in the group
  double arrives = 0, waits = 0, transfers = 0;
};
struct Measured {
  std::vector<RankTimes> ranks;
  double seconds = 0;       ///< from the first arrival to the last end
  double wait_seconds = 0;  ///< until the last rank arrived
  int last = 0;             ///< index of that rank
};

std::optional<Measured> measured_of(const Inside& inside) {
  if (!inside.result || inside.result->plan != inside.plan) return std::nullopt;
  Measured measured;
  const auto step = static_cast<size_t>(inside.step_id);
  const auto& events = inside.result->events;
  double first = 0, last_arrival = 0, end = 0;
  for (int index = 0; index < inside.size(); ++index) {
    const auto rank = static_cast<size_t>(inside.ranks[static_cast<size_t>(index)]);
    if (rank >= events.size() || step >= events[rank].size()) continue;  // not kept, or not reached
    const StepEvent& event = events[rank][step];
    const bool is_first = measured.ranks.empty();
    first = is_first ? event.arrival_seconds : std::min(first, event.arrival_seconds);
    end = is_first ? event.end_seconds : std::max(end, event.end_seconds);
    if (is_first || event.arrival_seconds > last_arrival) {
      last_arrival = event.arrival_seconds;
      measured.last = index;
    }
    measured.ranks.push_back({index, event.arrival_seconds, event.wait_seconds(), event.transfer_seconds()});
  }
  if (measured.ranks.empty()) return std::nullopt;
  for (RankTimes& rank : measured.ranks) rank.arrives -= first;
  measured.seconds = end - first;
  measured.wait_seconds = last_arrival - first;
  return measured;
}

/// What really ran, by the communicator's own word.
std::string what_ran(const Inside& inside) {
  if (!inside.result || inside.result->communicator.name.empty())
    return "Nothing has run yet. The hops are drawn from the rule of the ring.";
  const std::string& name = inside.result->communicator.name;
  const bool sums = inside.sums();
  if (name == "local")
    return sums ? "The ranks of this run are threads and share their memory: each adds its own chunk of all "
                  "ranks, in rank order, and writes it to all. Ranks that are joined only by links use the "
                  "ring."
                : "The ranks of this run are threads and share their memory: each copies what it needs from "
                  "the others, with "
                  "no hops. Ranks that are joined only by links use the ring.";
  if (name == "local_cuda")
    return "The ranks of this run share one GPU and its memory: each copies or adds what it needs, with no "
           "hops. GPUs that are joined only by links use the ring.";
  if (name == "nccl")
    return "NCCL moves the data of this run. It chooses ring, tree or another way by itself and does not say "
           "which, so the hops are drawn from the rule.";
  if (name == "mpi")
    return sums ? "The ranks of this run are processes: rank r receives chunk r of all ranks, adds them in "
                  "rank order and sends the sum to all. No ring ran; it would send the same number of bytes."
                : "The ranks of this run are processes: each sends its piece straight to those that need it. "
                  "No ring ran; it would send the same number of bytes.";
  return fmt::format("The communicator of this run is \"{}\". The hops are drawn from the rule.", name);
}

float draw_price(const Context& context, const Inside& inside, const Rect& room, bool draw) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const Hardware& hardware = priced_on(context, inside.program());
  const Ring ring = ring_of(inside.program(), inside.step(), hardware);
  const LinkRate link = link_of(inside.kind(), ring, hardware);
  const int64_t sent = sent_bytes(inside.program(), inside.step_id);
  const int hops = ring_hops(inside.kind(), inside.size());
  float y = room.min.y;
  const auto line = [&](const TextStyle& style, const std::string& words, float gap) {
    if (draw) draw_wrapped(list, {room.min.x, y}, style, words, room.width());
    y += wrapped_height(style, words, room.width()) + context.px(gap);
  };
  const bool as_tree = inside.has_tree() && inside.wiring == Wiring::Tree;
  line(type.strong, as_tree ? "The price of the tree" : "The price of the ring", 8);
  if (link.bytes_per_second <= 0) {
    line(type.body,
         hardware.title +
             " states no speed of its links, so the ring has no price here. Choose other hardware in Setup, "
             "or calibrate this machine in Traffic.",
         8);
  } else {
    // The tree sends the whole tensor in each hop.
    const int tree_hops =
        inside.has_tree() ? static_cast<int>(route_of(inside.kind(), Wiring::Tree, inside.size()).hops.size())
                          : 0;
    const double whole = static_cast<double>(inside.full_bytes()), part = static_cast<double>(sent) / hops;
    const double of_ring = collective_seconds(inside.kind(), sent, ring, hardware);
    const double of_tree = tree_hops * (link.latency_seconds + whole / link.bytes_per_second);
    const double seconds = as_tree ? of_tree : of_ring;
    const auto formula = [&](int count, double bytes) {
      return fmt::format("{} hops × (α {} + {} ÷ β {}) = ", count, format_seconds(link.latency_seconds),
                         bytes_text(bytes), format_bandwidth(link.bytes_per_second));
    };
    const std::string words = as_tree ? formula(tree_hops, whole) : formula(hops, part);
    const TextStyle figure = type.figure;
    const std::string source = ", estimated on " + hardware.title;
    const float width = text_width(type.mono, words);
    const float result = text_width(figure, format_seconds(seconds));
    const bool one_line = width + result + text_width(type.note, source) <= room.width();
    if (draw) {
      draw_text(list, {room.min.x, y}, type.mono, words);
      float x = room.min.x + width;
      float at = y;
      if (width + result > room.width()) x = room.min.x, at = y + type.mono.size + context.px(4);
      draw_text(list, {x, at - context.px(2)}, figure, format_seconds(seconds));
      if (one_line || x == room.min.x)
        draw_text(list, {x + result, at + context.px(1)}, type.note, source);
      else
        draw_text(list, {room.min.x, y + type.mono.size + context.px(4)}, type.note, source.substr(2));
    }
    y += type.mono.size + context.px(8) + (one_line ? 0 : type.mono.size + context.px(2));
    if (inside.has_tree())
      line(type.note,
           fmt::format("As a {}, by the same α and β: {} hops × (α + {} ÷ β) = {}.",
                       as_tree ? "ring" : "tree", as_tree ? hops : tree_hops,
                       bytes_text(as_tree ? part : whole), format_seconds(as_tree ? of_ring : of_tree)),
           4);
    line(type.note,
         "α: what a hop takes before a byte moves. β: bytes per second over the slowest link of the group.",
         8);
  }
  line(in(type.note, theme.text), what_ran(inside), 0);
  return y - room.min.y;
}

std::string measured_title(const Inside& inside, const Measured& measured) {
  const Result& result = *inside.result;
  std::string how = result.replayed
                        ? fmt::format("{} on {}", result.live ? "Live" : "Recorded", result.machine)
                        : std::string("Measured here");
  const std::string seconds = measured_text(measured.seconds, inside.result.get());
  std::string words = how + ": " + seconds;
  if (measured.wait_seconds > 0)
    words +=
        fmt::format(", {} of it until {} arrived", measured_text(measured.wait_seconds, inside.result.get()),
                    inside.rank_name(measured.last));
  return words;
}

float draw_rank_bars(const Context& context, const Inside& inside, const Measured& measured, const Rect& room,
                     float row) {
  const Type type(context);
  const Theme& theme = context.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const int columns = measured.ranks.size() > kTwoColumns ? 2 : 1;
  const auto rows = (measured.ranks.size() + static_cast<size_t>(columns) - 1) / static_cast<size_t>(columns);
  const float gap = context.px(28),
              width = (room.width() - gap * static_cast<float>(columns - 1)) / static_cast<float>(columns);
  const float number = context.px(width >= context.px(560) ? 84 : 64);
  for (size_t i = 0; i < measured.ranks.size(); ++i) {
    const RankTimes& rank = measured.ranks[i];
    const float left = room.min.x + (width + gap) * static_cast<float>(i / rows);
    const float right = left + width;
    if (i % rows == 0) {
      const TextStyle head = type.note;
      for (const auto& [word, place] :
           {std::pair{"arrives", 2.0f}, std::pair{"waits", 1.0f}, std::pair{"transfers", 0.0f}})
        draw_text(list, {right - number * place, room.min.y}, head, word, Align::Right);
    }
    const float top = room.min.y + type.note.size + context.px(4) + row * static_cast<float>(i % rows);
    const int world = inside.ranks[static_cast<size_t>(rank.index)];
    const float middle = top + row / 2;
    fill_rect(list, {left, top + context.px(2)}, {left + context.px(4), top + row - context.px(3)},
              theme.ranks[world % 8]);
    draw_text(list, {left + context.px(12), middle - type.note.size * 0.56f}, in(type.note, theme.text),
              inside.rank_name(rank.index));
    const float bar_left = left + context.px(78), bar_right = right - 3 * number - context.px(4);
    const double scale =
        measured.seconds > 0 ? static_cast<double>(bar_right - bar_left) / measured.seconds : 0;
    const auto x_of = [&](double seconds) { return bar_left + static_cast<float>(seconds * scale); };
    const float arrives = x_of(rank.arrives), met = x_of(rank.arrives + rank.waits);
    const float end = std::max(x_of(rank.arrives + rank.waits + rank.transfers), met + context.px(2));
    const float inset = std::max(1.0f, row * 0.16f);
    draw_line(list, {bar_left, middle}, {arrives, middle}, faded(theme.forward, 0.7f),
              std::max(1.0f, context.px(2)));
    fill_rect(list, {arrives, top + inset}, {met, top + row - inset}, faded(theme.communication, 0.3f));
    fill_rect(list, {met, top + inset}, {end, top + row - inset}, theme.communication, context.px(2));
    fill_rect(list, {arrives - context.px(1), top + 1}, {arrives + context.px(1), top + row - 1}, theme.text);
    const TextStyle value{type.mono_note.font, type.mono_note.size, theme.text};
    draw_text(list, {right - 2 * number, middle - value.size * 0.56f}, value,
              measured_text(rank.arrives, inside.result.get()), Align::Right);
    draw_text(list, {right - number, middle - value.size * 0.56f}, value,
              measured_text(rank.waits, inside.result.get()), Align::Right);
    draw_text(list, {right, middle - value.size * 0.56f}, value,
              measured_text(rank.transfers, inside.result.get()), Align::Right);
  }
  return type.note.size + context.px(4) + row * static_cast<float>(rows);
}

void draw_measured(const Context& context, const Inside& inside, const Rect& room) {
  const Type type(context);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const std::optional<Measured> measured = measured_of(inside);
  if (!measured) {
    const bool replayed = inside.result && inside.result->replayed;
    draw_text(list, room.min, type.strong, replayed ? "Not recorded" : "Not measured yet");
    draw_wrapped(
        list, {room.min.x, room.min.y + type.strong.size + context.px(8)}, type.body,
        replayed
            ? "The recording keeps no times of this collective."
            : "Every rank's arrival, waiting and transfer appear here when the run has passed this step.",
        room.width());
    return;
  }
  float y = room.min.y;
  const std::string title = measured_title(inside, *measured);
  y += draw_wrapped(list, {room.min.x, y}, type.strong, title, room.width()) + context.px(4);
  if (const std::string shared = core_sharing_words(*inside.result.get());
      !shared.empty() && measured->wait_seconds > 0)
    y += draw_wrapped(list, {room.min.x, y}, in(type.note, context.theme.text), shared, room.width()) +
         context.px(4);
  y += context.px(4);
  const auto ranks = measured->ranks.size();
  const size_t rows = ranks > kTwoColumns ? (ranks + 1) / 2 : ranks;
  const float left = room.max.y - y - type.note.size - context.px(4);
  const float row = within(left / static_cast<float>(rows), context.px(13), context.px(kBarRow));
  y += draw_rank_bars(context, inside, *measured, {{room.min.x, y}, room.max}, row);
  if (inside.step().overlapped && y + type.note.size <= room.max.y)
    draw_text(list, {room.min.x, y + context.px(2)}, type.note, "Later steps ran at the same time.");
}

}  // namespace

std::vector<Chip> chips_of(const Context& context, const Inside& inside) {
  const Theme& theme = context.theme;
  std::vector<Chip> chips;
  if (inside.result && inside.result->replayed)
    chips.push_back(provenance_chip(context.snapshot, theme));
  else
    chips.push_back(parity_chip(context.snapshot, theme));
  chips.push_back(communicator_chip(context.snapshot, theme));
  const std::string form = inside.wiring == Wiring::Tree ? "the tree" : "the ring";
  const bool is_nccl = inside.result && inside.result->communicator.name == "nccl";
  const std::string words = is_nccl ? form + ": drawn, NCCL chooses its own way" : form + ": drawn, not run";
  chips.push_back(
      {.text = words,
       .short_text = is_nccl ? "drawn" : "drawn, not run",
       .least_text = "drawn",
       .tooltip = what_ran(inside) + " A ring or a tree adds in another order, so its last bits may differ.",
       .colour = theme.communication,
       .mark = Mark::Ring});
  return chips;
}

std::string equation_of(const Inside& inside) {
  const Program& program = inside.program();
  const Step& step = inside.step();
  if (step.outputs.size() > 1) return converted_words(program, step);
  const StepId producer = producer_of(program, step.inputs.front());
  const std::string& equation = producer >= 0 ? program.step(producer).equation : step.equation;
  return equation.empty() ? converted_words(program, step) : equation.substr(0, equation.find("; "));
}

float figures_height(const Context& context, const Inside& inside, float width) {
  const Type type(context);
  const auto ranks = static_cast<float>(inside.size());
  const float rows = ranks > kTwoColumns ? std::ceil(ranks / 2) : ranks;
  const float measured = 3 * type.note.size + context.px(28) + rows * context.px(ranks > 4 ? 16 : kBarRow);
  const float price = draw_price(context, inside, {{0, 0}, {width * 0.46f, 0}}, false);
  return std::round(std::max(measured, price) + context.px(22));
}

void draw_figures(const Context& context, const Inside& inside, const Rect& room) {
  if (room.width() < context.px(kNarrowWindow)) {
    const float price = draw_price(context, inside, room, true) + context.px(24);
    return draw_measured(context, inside, {{room.min.x, room.min.y + price}, room.max});
  }
  const float half = room.width() * 0.46f;
  draw_price(context, inside, {room.min, {room.min.x + half, room.max.y}}, true);
  draw_measured(context, inside, {{room.min.x + half + context.px(36), room.min.y}, room.max});
}

}  // namespace shardlens::ui::collective
