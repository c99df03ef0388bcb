// Draws what comes after the ranks' terms: the collective, or the reason why there is none, and the sum
// beside the number of the run on one rank.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "ui/plan/window_values.h"
#include "ui/product/page.h"
#include "ui/stage/meeting.h"
#include "ui/widgets/format.h"

namespace shardlens::ui {
namespace {

std::string nothing_to_add(const Number& number) {
  if (number.parts.size() == 1) return "one rank has the whole sum";
  if (number.cut == SumCut::None)
    return "every rank makes the whole sum by itself: nothing to add, nothing to send";
  const auto maker =
      std::find_if(number.parts.begin(), number.parts.end(), [](const auto& part) { return part.makes(); });
  if (maker == number.parts.end()) return "no rank makes this number";
  const std::string whole =
      fmt::format("rank {} has the whole sum: nothing to add", maker - number.parts.begin());
  if (number.is_run && number.conversion >= 0) {
    const Op op = number.program().step(number.conversion).op;
    if (is_collective(op))
      return fmt::format("{}; the {} that follows sends the finished number to the others", whole,
                         to_string(op));
  }
  return whole + ", nothing to send";
}

/// The collective's text with what it does to the number, in the longest form that fits.
std::string collective_words(const OpenedPage& page, const Number& number, const TextStyle& style,
                             float width) {
  const Step& step = number.program().step(number.conversion);
  const Snapshot& snapshot = page.context.snapshot;
  const std::string adds = fmt::format(" · adds the {} terms of each number", number.makers());
  std::string words;
  for (const std::string& form : stage::band_forms(
           number.program(), step, stage::meeting_of(*number.plan, snapshot.result.get(), step.id),
           stage::kept_back(page.context))) {
    const size_t title = std::min(form.find(" · "), form.size());
    for (const std::string& longer : {form.substr(0, title) + adds + form.substr(title), form}) {
      words = longer;
      if (text_width(style, words) <= width) return words;
    }
  }
  return fitted(style, words, width);
}

/// Some words on one line.
struct Span {
  std::string text;
  TextStyle style;
  float gap = 0;  ///< before it
};

float width_of(const std::vector<Span>& spans) {
  float width = 0;
  for (const Span& span : spans) width += span.gap + text_width(span.style, span.text);
  return width;
}

/// The terms, or the sum and what the same step adds to it, up to "=".
std::vector<Span> left_side(const OpenedPage& page, const Number& number, const AlikeNumbers& alike,
                            const TextStyle& word, const TextStyle& mono) {
  std::vector<Span> spans;
  const float gap = page.px(8);
  if (number.is_terms() && number.makers() <= 8) {
    for (size_t rank = 0; rank < number.parts.size(); ++rank) {
      const NumberPart& part = number.parts[rank];
      if (!part.makes()) continue;
      if (!spans.empty()) spans.push_back({"+", in(mono, page.theme.dim), gap});
      spans.push_back({alike.text(part.term), in(mono, page.rank_ink(static_cast<int>(rank))), gap});
    }
  } else if (number.is_terms()) {
    spans.push_back({fmt::format("the sum of {} terms", number.makers()), word});
  } else if (number.bias || number.product.is_added || number.product.is_bent) {
    spans.push_back({alike.text(number.sum), mono});
  }
  if (number.bias) {
    spans.push_back({"+", in(mono, page.theme.dim), gap});
    spans.push_back({alike.text(*number.bias), mono, gap});
    spans.push_back({"(b)", word, page.px(6)});
  }
  if (number.product.is_added) spans.push_back({"+ the earlier parts of the batch", word, gap});
  if (number.product.is_bent) spans.push_back({"\u2218 GeLU'(H) in the same step", word, gap});
  if (!spans.empty()) spans.push_back({"=", in(mono, page.theme.dim), page.px(14)});
  return spans;
}

std::vector<Span> beside_serial(const OpenedPage& page, const Number& number, const AlikeNumbers& alike,
                                const TextStyle& word, const TextStyle& mono) {
  const TextStyle note = page.type.note;
  if (!number.is_run) return {{"computed here from the factors of the run", note, page.px(28)}};
  if (!number.serial) return {{"serial: " + why_no_serial(page.context), note, page.px(28)}};
  return {{"serial:", word, page.px(28)},
          {alike.text(*number.serial), mono, page.px(8)},
          {"difference", word, page.px(14)},
          {format_error(std::abs(number.value() - *number.serial)), mono, page.px(8)}};
}

}  // namespace

std::string holder_words(const Number& number) {
  if (number.parts.size() == 1) return "on the only rank";
  if (!number.is_run) return "computed here, not run";
  if (number.holders.empty()) return "the terms added here";
  if (number.holders.size() == number.parts.size()) return "on every rank: Replicated";
  if (number.holders.size() == 1) return fmt::format("on rank {} only: Sharded", number.holders.front());
  return fmt::format("on ranks {}", fmt::join(number.holders, ", "));
}

void draw_band_of_number(const OpenedPage& page, const Number& number, const Rect& band) {
  const ImU32 amber = page.theme.communication;
  const TextStyle style = page.type.body;
  const float room = band.width() - page.px(24);
  const auto say = [&](const std::string& words, ImU32 colour) {
    draw_text(page.list, {(band.min.x + band.max.x) / 2, (band.min.y + band.max.y) / 2 - style.size * 0.56f},
              in(style, colour), fitted(style, words, room), Align::Centre);
  };
  if (!number.is_terms()) return say(nothing_to_add(number), page.theme.dim);
  if (!number.is_run || number.conversion < 0) {
    draw_dashed_rect(page.list, band.min, band.max, amber, page.thin(1.5f), page.px(5));
    return say(number.is_run ? "no collective follows: each rank goes on with its own term"
                             : "these terms would have to be added: an all-reduce of the whole tensor",
               page.theme.text);
  }
  fill_rect(page.list, band.min, band.max, mixed(page.theme.window, amber, 0.17f), page.px(6));
  outline_rect(page.list, band.min, band.max, amber, page.px(6), page.thin(1.5f));
  say(collective_words(page, number, style, room), page.theme.text);
  const TextStyle letter{page.context.fonts.italic, page.px(20), amber};
  draw_text(page.list, {band.min.x - page.px(18), (band.min.y + band.max.y) / 2 - letter.size * 0.56f},
            letter, stage::letter_of(number.program().step(number.conversion).conjugate), Align::Centre);
}

void draw_sum_of_number(const OpenedPage& page, const Number& number, const Rect& box) {
  const AlikeNumbers alike = alike_numbers(number);
  const TextStyle word{page.context.fonts.body, page.px(17), page.theme.dim};
  const float room = box.width() - page.px(24);
  // Where there is little room, all becomes smaller; else the terms go, because they stand above.
  std::vector<Span> left, right;
  const auto fits = [&] { return width_of(left) + width_of(right) <= room; };
  for (const bool with_terms : {true, false}) {
    TextStyle mono = page.big(20, page.theme.text), result = page.big(36, page.theme.agreement);
    for (; mono.size >= page.px(14); mono.size -= 1, result.size -= 1) {
      left = left_side(page, number, alike, word, mono);
      left.push_back({alike.text(number.value()), result, page.px(14)});
      if (!with_terms) left.erase(left.begin(), left.end() - 1);
      right = beside_serial(page, number, alike, word, mono);
      if (fits()) break;
    }
    if (fits()) break;
  }
  const float left_width = width_of(left);
  if (right.size() == 1)
    right[0].text = fitted(right[0].style, right[0].text, room - left_width - right[0].gap);
  // Beside a lesson's card there may be room for a smaller comparison only.
  constexpr float kLeastShare = 0.6f;
  float share = (room - left_width) / std::max(1.0f, width_of(right));
  const bool below = share < kLeastShare;  // too small to be read beside the number
  if (below) share = room / std::max(1.0f, width_of(right));
  if (share < 1)
    for (Span& span : right) {
      span.style.size = std::floor(span.style.size * std::max(kLeastShare, share));
      span.gap *= std::max(kLeastShare, share);
    }
  const auto draw = [&](std::span<const Span> spans, float x, float middle) {
    for (const Span& span : spans) {
      x += span.gap;
      draw_text(page.list, {x, middle - span.style.size * 0.54f}, span.style, span.text);
      x += text_width(span.style, span.text);
    }
    return x;
  };
  const auto start = [&](float width) {
    return std::max(box.min.x + page.px(12), (box.min.x + box.max.x - width) / 2);
  };
  const float middle = (box.min.y + box.max.y) / 2, half = box.height() / 2;
  if (below) {
    draw(left, start(left_width), middle - half * 0.3f);
    draw(right, start(width_of(right)), middle + half * 0.62f);
  } else {
    draw(right, draw(left, start(left_width + width_of(right)), middle), middle);
  }
}

}  // namespace shardlens::ui
