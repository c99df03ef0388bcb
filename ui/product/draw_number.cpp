// Draws the making of a number: a lane for each rank, read downwards. Pieces have the rank's colour, terms
// are dashed, the collective is solid, what holds on every rank is neutral.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "ui/product/page.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/format.h"
#include "ui/widgets/heatmap.h"

namespace shardlens::ui {
namespace {

constexpr float kGutter = 176, kNarrowGutter = 112;
constexpr float kNarrowRoom = 1000;
constexpr float kLaneGap = 10, kNarrowLaneGap = 6;

/// Heights at scale 1 and unit 1.
constexpr float kHead = 28, kStrip = 38, kTimes = 18, kTerm = 68, kStub = 12, kBand = 32, kSum = 58;
constexpr float kFixed = 12 + kHead + 8 + kTimes + 12;
static_assert(kStretchedRows == 2 * kStrip + kTerm + kBand + kSum + 3 * kStub);

/// What stands at the left of a row: the tensor's element, then what it is, the most important first.
struct Label {
  std::string title;
  std::vector<std::string> lines;
  bool partial = false;  ///< the last line is the word "Partial"
};

class Lanes {
 public:
  Lanes(const OpenedPage& page, const std::shared_ptr<const Number>& number, const Rect& room)
      : page_(page),
        owner_(number),
        number_(*number),
        program_(number->program()),
        room_(room),
        narrow_(room.width() < page.px(kNarrowRoom)),
        gutter_(page.px(narrow_ ? kNarrowGutter : kGutter)) {
    const auto lanes = static_cast<float>(number->parts.size());
    const float gap = page.px(lanes > 8 ? 4 : narrow_ ? kNarrowLaneGap : kLaneGap);
    const float left = room.min.x + gutter_, right = room.max.x - page.px(narrow_ ? 10 : 16);
    width_ = (right - left - gap * (lanes - 1)) / lanes;
    for (size_t rank = 0; rank < number->parts.size(); ++rank)
      lefts_.push_back(std::round(left + static_cast<float>(rank) * (width_ + gap)));
    y_ = room.min.y + page.px(12);
  }

  void draw() {
    fill_rect(page_.list, room_.min, room_.max, page_.theme.panel, page_.px(6));
    draw_heads();
    const float strips = y_;
    draw_factor(true);
    draw_times();
    draw_factor(false);
    stubs(y_, y_ + page_.tall(kStub), true);
    y_ += page_.tall(kStub);
    draw_terms();
    draw_idle(strips);
    stubs(y_, y_ + page_.tall(kStub), true);
    y_ += page_.tall(kStub);
    draw_between();
    stubs(y_, y_ + page_.tall(kStub), number_.cut != SumCut::Terms);
    y_ += page_.tall(kStub);
    draw_sum();
  }

 private:
  Rect lane(size_t rank, float top, float height) const {
    return {{lefts_[rank], top}, {std::round(lefts_[rank] + width_), top + height}};
  }
  float right() const { return lefts_.back() + width_; }
  const Tensor& tensor(TensorId id) const { return program_.tensor(id); }
  bool is_terms() const { return number_.is_terms(); }

  void label(float top, float height, const Label& label) {
    const TextStyle title{page_.context.fonts.mono, page_.px(kBodySize), page_.theme.text};
    const TextStyle note = page_.type.note;
    const float line = page_.px(16), margin = page_.px(narrow_ ? 10 : 16);
    const float x = room_.min.x + margin, width = gutter_ - margin - page_.px(8);
    std::vector<std::string> lines = label.lines;
    const auto fit = static_cast<size_t>(std::max(0.0f, (height + page_.px(14) - title.size) / line));
    while (lines.size() > fit) lines.erase(label.partial ? lines.begin() : lines.end() - 1);
    float y = top + (height - title.size - line * static_cast<float>(lines.size())) / 2;
    draw_text(page_.list, {x, y}, title, fitted(title, label.title, width));
    y += title.size + page_.px(1);
    for (size_t i = 0; i < lines.size(); ++i) {
      const bool word = label.partial && i + 1 == lines.size();
      const TextStyle style =
          word ? TextStyle{page_.context.fonts.bold, note.size, page_.theme.communication} : note;
      const std::string brief = lines[i].substr(0, lines[i].find_first_of(",:"));
      draw_text(page_.list, {x, y}, style,
                fitted(style, text_width(style, lines[i]) <= width ? lines[i] : brief, width));
      y += line;
    }
  }

  void draw_heads() {
    const float height = page_.px(kHead);
    for (size_t rank = 0; rank < number_.parts.size(); ++rank) {
      const Rect head = lane(rank, y_, height);
      fill_rect(page_.list, head.min, head.max, page_.theme.card, page_.px(3));
      fill_rect(page_.list, head.min, {head.min.x + page_.px(4), head.max.y}, page_.theme.ranks[rank % 8]);
      const TextStyle name = page_.type.strong;
      const std::string words = (width_ < page_.px(64) ? "" : "rank ") + std::to_string(rank);
      const float x = head.min.x + page_.px(12), middle = (head.min.y + head.max.y) / 2;
      draw_text(page_.list, {x, middle - name.size * 0.56f}, name, words);
      const float room = head.max.x - page_.px(8) - x - text_width(name, words) - page_.px(12);
      const std::string pairs = pairs_text(number_.parts[rank], page_.type.mono_note, room);
      draw_text(page_.list, {head.max.x - page_.px(8), middle - page_.type.mono_note.size * 0.56f},
                page_.type.mono_note, pairs, Align::Right);
    }
    y_ += height + page_.px(8);
  }

  /// "k = 0 … 767", or as much of it as fits.
  static std::string pairs_text(const NumberPart& part, const TextStyle& style, float room) {
    if (!part.makes()) return {};
    std::vector<std::string> ranges;
    for (const Range& range : part.pairs)
      ranges.push_back(fmt::format("{} … {}", range.begin, range.end - 1));
    const std::string whole = fmt::format("k = {}", fmt::join(ranges, ", "));
    if (text_width(style, whole) <= room) return whole;
    const std::string first = fmt::format("k = {}{}", ranges[0], ranges.size() > 1 ? ", …" : "");
    return text_width(style, first) <= room ? first : std::string();
  }

  /// How many pairs of a part stand as numbers; the others are a picture.
  size_t written(const NumberPart& part) const {
    const float cell = cell_width();
    if (width_ < cell * 1.5f) return 0;
    const auto fit = static_cast<size_t>(width_ * 0.78f / cell);
    return std::min(part.a.size(), std::max<size_t>(fit, 1));
  }
  float cell_width() const {
    const TextStyle style = numbers();
    return text_width(style, "-0.00000") + page_.px(10);
  }
  TextStyle numbers() const {
    return {page_.context.fonts.mono, std::round(page_.px(14) * std::clamp(page_.unit, 0.9f, 1.4f)),
            page_.theme.text};
  }

  void draw_strip(size_t rank, const Rect& strip, const std::vector<double>& values, const Picture& picture,
                  ColourScale scale) {
    const NumberPart& part = number_.parts[rank];
    const size_t count = written(part);
    const bool rest = count < values.size();
    const float cells = rest ? cell_width() * static_cast<float>(count) : strip.width();
    const float cell = count > 0 ? cells / static_cast<float>(count) : 0;
    TextStyle style = numbers();
    for (size_t i = 0; i < count; ++i) {
      const float x = strip.min.x + cell * static_cast<float>(i);
      const ImU32 ground = colour_of(values[i], scale);
      fill_rect(page_.list, {x, strip.min.y}, {x + cell, strip.max.y}, ground);
      if (i > 0) fill_rect(page_.list, {x, strip.min.y}, {x + 1, strip.max.y}, faded(page_.theme.line, 0.5f));
      style.colour = legible_on(page_.theme, ground);
      draw_text(page_.list, {x + cell / 2, (strip.min.y + strip.max.y - style.size) / 2}, style,
                format_value(values[i]), Align::Centre);
    }
    if (rest) {
      const float from = static_cast<float>(count) / static_cast<float>(values.size());
      page_.context.heatmaps.draw(page_.list, {strip.min.x + cells, strip.min.y}, strip.max, owner_, picture,
                                  scale, {from, 0}, {1, 1});
    }
    const bool cut = is_cut_by_rank();
    outline_rect(page_.list, strip.min, strip.max,
                 cut ? page_.rank_ink(static_cast<int>(rank)) : page_.theme.dim, 0, page_.thin(cut ? 2 : 1));
    hover_pair(rank, strip, cells, cell, count);
  }

  /// True if each rank has pairs of its own.
  bool is_cut_by_rank() const { return number_.parts.size() > 1 && number_.cut != SumCut::None; }

  void hover_pair(size_t rank, const Rect& strip, float cells, float cell, size_t count) {
    const ImVec2 mouse = ImGui::GetMousePos();
    if (page_.context.view.covered() || !ImGui::IsWindowHovered() || !strip.contains(mouse)) return;
    const NumberPart& part = number_.parts[rank];
    const float x = mouse.x - strip.min.x;
    size_t index = cell > 0 ? static_cast<size_t>(x / cell) : 0;
    if (x >= cells) {
      const float share = (x - cells) / std::max(1.0f, strip.width() - cells);
      index = count + static_cast<size_t>(share * static_cast<float>(part.a.size() - count));
    }
    index = std::min(index, part.a.size() - 1);
    show_tooltip(page_.context, fmt::format("k = {}:  {:.6g} \u00D7 {:.6g} = {:.6g}\nthe sum so far: {:.6g}",
                                            pair_at(part, index), part.a[index], part.b[index],
                                            part.a[index] * part.b[index], part.running[index]));
  }

  static int64_t pair_at(const NumberPart& part, size_t index) {
    auto left = static_cast<int64_t>(index);
    for (const Range& range : part.pairs) {
      if (left < range.size()) return range.begin + left;
      left -= range.size();
    }
    return -1;
  }

  std::string held_words(TensorId id, const NumberPart& part) const {
    if (number_.parts.size() == 1) return fmt::format("{} numbers", grouped_text(part.a.size()));
    const LayoutKind kind = tensor(id).layout.kind;
    if (!number_.is_run) return fmt::format("{} on each rank", grouped_text(part.a.size()));
    if (kind == LayoutKind::Sharded && is_terms())
      return fmt::format("Sharded, {} on each rank", grouped_text(part.a.size()));
    return to_string(tensor(id).layout);
  }

  const NumberPart& first_maker() const {
    for (const NumberPart& part : number_.parts)
      if (part.makes()) return part;
    return number_.parts.front();
  }

  void draw_factor(bool is_a) {
    const Product& product = number_.product;
    const TensorId id = is_a ? product.a : product.b;
    const bool turned = is_a ? product.a_turned : product.b_turned;
    const int64_t at = is_a ? number_.row : number_.col;
    const bool as_column = is_a == turned;
    const std::string& symbol = tensor(id).symbol;
    const float height = page_.tall(kStrip);
    label(y_, height,
          {as_column ? fmt::format("{}[k, {}]", symbol, at) : fmt::format("{}[{}, k]", symbol, at),
           {fmt::format("{} {} of {}", as_column ? "column" : "row", at, symbol),
            held_words(id, first_maker())}});
    for (size_t rank = 0; rank < number_.parts.size(); ++rank) {
      const NumberPart& part = number_.parts[rank];
      if (!part.makes()) continue;
      draw_strip(rank, lane(rank, y_, height), is_a ? part.a : part.b, is_a ? part.a_picture : part.b_picture,
                 is_a ? number_.a_scale : number_.b_scale);
    }
    y_ += height;
  }

  void draw_times() {
    const float height = page_.px(kTimes);
    const TextStyle style = page_.type.note;
    for (size_t rank = 0; rank < number_.parts.size(); ++rank) {
      const NumberPart& part = number_.parts[rank];
      if (!part.makes()) continue;
      const size_t count = written(part);
      const float y = y_ + (height - style.size) / 2;
      for (size_t i = 0; i < count; ++i)
        draw_text(page_.list, {lefts_[rank] + cell_width() * (static_cast<float>(i) + 0.5f), y}, style,
                  "\u00D7", Align::Centre);
      if (count == part.a.size()) continue;
      const float from = lefts_[rank] + cell_width() * static_cast<float>(count);
      const float room = lefts_[rank] + width_ - from;
      const std::string more =
          fmt::format("{}{}", grouped_text(part.a.size() - count), count > 0 ? " more" : "");
      draw_text(page_.list, {from + room / 2, y}, style, fitted(style, more, room), Align::Centre);
    }
    y_ += height;
  }

  /// Lines that lead from a rank's boxes to the next; `own`: only of the ranks that make the number.
  void stubs(float from, float to, bool own) {
    for (size_t rank = 0; rank < number_.parts.size(); ++rank) {
      if (own && !number_.parts[rank].makes()) continue;
      const float x = std::round(lefts_[rank] + std::min(page_.px(28), width_ / 3));
      fill_rect(page_.list, {x, from}, {x + page_.thin(3), to}, page_.rank_ink(static_cast<int>(rank)));
    }
  }

  void draw_terms() {
    const float height = page_.tall(kTerm);
    const Tensor& out = tensor(number_.product.out);
    Label text{element_text(out.symbol, number_.row, number_.col),
               {fmt::format("{} products, added up", grouped_text(first_maker().a.size()))}};
    if (is_terms()) {
      text.lines.push_back("Partial");
      text.partial = true;
    }
    label(y_, height, text);
    const AlikeNumbers alike = alike_numbers(number_);
    for (size_t rank = 0; rank < number_.parts.size(); ++rank)
      if (number_.parts[rank].makes()) draw_term(rank, lane(rank, y_, height), alike);
    y_ += height;
  }

  void draw_term(size_t rank, const Rect& box, const AlikeNumbers& alike) {
    const NumberPart& part = number_.parts[rank];
    const float pad = page_.px(narrow_ ? 5 : 12);
    const std::string words = alike.text(part.term, is_terms());
    TextStyle value = page_.big(34, page_.rank_ink(static_cast<int>(rank)));
    // The number first; the curve of its running sum has what is left.
    const float inner = box.width() - 2 * pad;
    const float widest = inner >= page_.px(190) ? inner - page_.px(96) : inner;
    while (value.size > page_.px(8) && text_width(value, words) > widest) value.size -= 1;
    const float left = box.min.x + pad + text_width(value, words) + page_.px(16);
    const bool curve = box.max.x - pad - left >= page_.px(64);
    draw_text(page_.list, {box.min.x + pad, (box.min.y + box.max.y - value.size) / 2}, value, words);
    if (curve) {
      const TextStyle note = page_.type.note;
      const TextStyle bold{page_.context.fonts.bold, note.size, page_.theme.communication};
      const float top = box.min.y + page_.px(6);
      float x = left;
      if (is_terms()) {
        draw_text(page_.list, {x, top}, bold, "a term");
        x += text_width(bold, "a term") + page_.px(10);
      }
      const std::string what = "its running sum";
      if (x + text_width(note, what) <= box.max.x - pad)
        draw_text(page_.list, {box.max.x - pad, top}, note, what, Align::Right);
      draw_running(part, {{left, top + note.size + page_.px(4)}, {box.max.x - pad, box.max.y - page_.px(6)}},
                   page_.rank_ink(static_cast<int>(rank)));
    }
    if (is_terms())
      draw_dashed_rect(page_.list, {box.min.x + 1, box.min.y + 1}, {box.max.x - 1, box.max.y - 1},
                       page_.theme.communication, page_.thin(2), page_.px(7));
    else
      outline_rect(page_.list, box.min, box.max,
                   number_.cut == SumCut::Whole && number_.parts.size() > 1
                       ? page_.rank_ink(static_cast<int>(rank))
                       : page_.theme.dim,
                   0, page_.thin(number_.cut == SumCut::Whole ? 2 : 1));
  }

  void draw_running(const NumberPart& part, const Rect& room, ImU32 colour) {
    const double span = number_.highest - number_.lowest;
    if (!(span > 0) || !std::isfinite(span) || room.height() < page_.px(8)) return;
    const auto y = [&](double sum) {
      return room.max.y - static_cast<float>((sum - number_.lowest) / span) * room.height();
    };
    draw_line(page_.list, {room.min.x, y(0)}, {room.max.x, y(0)}, page_.theme.line, 1);
    const size_t points =
        std::min<size_t>(part.running.size(), static_cast<size_t>(room.width() / page_.px(1.5f)));
    ImVec2 before{room.min.x, y(0)};
    for (size_t i = 0; i < points; ++i) {
      const size_t at = (i + 1) * part.running.size() / points - 1;
      const float x =
          room.min.x + room.width() * static_cast<float>(at + 1) / static_cast<float>(part.running.size());
      const ImVec2 here{x, y(part.running[at])};
      draw_line(page_.list, before, here, colour, page_.thin(1.5f));
      before = here;
    }
    fill_rect(page_.list, {before.x - page_.px(2.5f), before.y - page_.px(2.5f)},
              {before.x + page_.px(2.5f), before.y + page_.px(2.5f)}, colour, page_.px(2.5f));
  }

  /// A rank that makes no part of the number says what it makes instead.
  void draw_idle(float top) {
    const Tensor& out = tensor(number_.product.out);
    for (size_t rank = 0; rank < number_.parts.size(); ++rank) {
      if (number_.parts[rank].makes()) continue;
      const Rect box = lane(rank, top, y_ - top);
      fill_rect(page_.list, box.min, box.max, page_.theme.ghost);
      const TextStyle style = page_.type.body;
      const std::string words = idle_words(out, static_cast<int>(rank));
      const float width = box.width() - 2 * page_.px(12);
      if (width < page_.px(60)) continue;
      const float height = wrapped_height(style, words, width);
      draw_wrapped(page_.list, {box.min.x + page_.px(12), (box.min.y + box.max.y - height) / 2},
                   in(style, page_.theme.dim), words, width);
    }
  }

  std::string idle_words(const Tensor& out, int rank) const {
    if (!number_.is_run) return fmt::format("Rank {} would make other columns of {}.", rank, out.symbol);
    const MatrixShape full = matrix_shape(out);
    std::vector<std::string> ranges;
    bool rows = false;
    for (const Placement& piece : placements(out, program_.tp(), rank)) {
      rows = piece.rows.size() < full.rows;
      const Range& range = rows ? piece.rows : piece.cols;
      ranges.push_back(fmt::format("{} … {}", range.begin, range.end - 1));
    }
    if (ranges.empty()) return fmt::format("Rank {} makes no part of {}.", rank, out.symbol);
    return fmt::format("Rank {} makes {} {} of {}: {}.", rank, rows ? "rows" : "columns",
                       fmt::join(ranges, ", "), out.symbol,
                       fmt::format("not {} {}", rows ? "row" : "column", rows ? number_.row : number_.col));
  }

  void draw_between() {
    const float height = page_.tall(kBand);
    draw_band_of_number(page_, number_, {{lefts_.front(), y_}, {right(), y_ + height}});
    y_ += height;
  }

  void draw_sum() {
    const float height = page_.tall(kSum);
    const Rect box{{lefts_.front(), y_}, {right(), y_ + height}};
    Label text{element_text(tensor(number_.product.out).symbol, number_.row, number_.col), {}};
    if (is_terms()) text.lines.push_back(number_.is_run ? "summed" : "as it would be summed");
    text.lines.push_back(holder_words(number_));
    label(y_, height, text);
    outline_rect(page_.list, box.min, box.max, page_.theme.dim, 0, page_.thin());
    draw_sum_of_number(page_, number_, box);
    y_ += height;
  }

  const OpenedPage& page_;
  std::shared_ptr<const Number> owner_;  ///< keeps the strips' pictures
  const Number& number_;
  const Program& program_;
  Rect room_;
  bool narrow_;  ///< beside a lesson's card: the terms need the room
  float gutter_, width_ = 0, y_ = 0;
  std::vector<float> lefts_;
};

}  // namespace

float number_height(const OpenedPage& page) {
  return page.px(kFixed) + page.tall(kStretchedRows);
}

void draw_number(const OpenedPage& page, const std::shared_ptr<const Number>& number, const Rect& room) {
  Lanes(page, number, room).draw();
}

}  // namespace shardlens::ui
