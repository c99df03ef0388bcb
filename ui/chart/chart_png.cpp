// The plug-in that draws a chart as PNG: with cairo in memory, in the studio's light theme and fonts.
#include <cairo-ft.h>
#include <cairo.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>

#include "engine/base/error.h"
#include "engine/config/assets.h"
#include "engine/io/chart.h"
#include "ui/theme/theme.h"
#include "ui/widgets/within.h"

#include FT_FREETYPE_H

namespace shardlens {

std::span<const EmbeddedFile> embedded_chart_fonts();

namespace ui {
namespace {

constexpr double kLeft = 104, kRight = 40, kTop = 116, kAxisRoom = 64, kNoteLine = 22;
constexpr double kTitle = 24, kBody = 16, kSmall = 15;
constexpr double kDot = 5, kCap = 5;

using Surface = std::unique_ptr<cairo_surface_t, decltype(&cairo_surface_destroy)>;
using Pen = std::unique_ptr<cairo_t, decltype(&cairo_destroy)>;
using Face = std::unique_ptr<cairo_font_face_t, decltype(&cairo_font_face_destroy)>;

enum class Side { Left, Middle, Right };

cairo_status_t append(void* text, const unsigned char* bytes, unsigned length) {
  static_cast<std::string*>(text)->append(reinterpret_cast<const char*>(bytes), length);
  return CAIRO_STATUS_SUCCESS;
}

// Fonts are read once and stay loaded until the program ends.
Face face(std::string_view name) {
  static FT_Library library = [] {
    FT_Library made = nullptr;
    if (FT_Init_FreeType(&made) != 0) throw run_error("cannot read the fonts of a chart");
    return made;
  }();
  for (const EmbeddedFile& file : embedded_chart_fonts()) {
    if (file.name != name) continue;
    FT_Face shapes = nullptr;
    if (FT_New_Memory_Face(library, reinterpret_cast<const FT_Byte*>(file.contents.data()),
                           static_cast<FT_Long>(file.contents.size()), 0, &shapes) != 0)
      break;
    return {cairo_ft_font_face_create_for_ft_face(shapes, 0), &cairo_font_face_destroy};
  }
  throw run_error(fmt::format("cannot read the font {} of a chart", name));
}

class Drawing {
 public:
  explicit Drawing(const Chart& chart)
      : chart_(chart),
        theme_(theme(ThemeName::Light)),
        plain_(face("Roboto/Roboto-Regular.ttf")),
        bold_(face("Roboto/Roboto-Bold.ttf")),
        surface_(cairo_image_surface_create(CAIRO_FORMAT_RGB24, chart.width, chart.height),
                 &cairo_surface_destroy),
        pen_(cairo_create(surface_.get()), &cairo_destroy) {
    bottom_ = chart.height - kAxisRoom - kNoteLine * static_cast<double>(chart.notes.size());
    right_ = chart.width - kRight;
  }

  std::string png() {
    colour(theme_.panel);
    cairo_paint(pen_.get());
    head();
    axes();
    for (const ChartSeries& series : chart_.series)
      if (series.look == ChartSeries::Look::Line) line(series);
    for (const ChartSeries& series : chart_.series)
      if (series.look == ChartSeries::Look::Points) points(series);
    std::string file;
    cairo_surface_write_to_png_stream(surface_.get(), &append, &file);
    const cairo_status_t status = std::max(cairo_status(pen_.get()), cairo_surface_status(surface_.get()));
    if (status != CAIRO_STATUS_SUCCESS)
      throw run_error(fmt::format("cannot draw a chart of {} × {} pixels: {}", chart_.width, chart_.height,
                                  cairo_status_to_string(status)));
    return file;
  }

 private:
  double place(const ChartAxis& axis, double value) const {
    return std::log(value / axis.low) / std::log(axis.high / axis.low);
  }
  double x(double value) const { return kLeft + place(chart_.x, value) * (right_ - kLeft); }
  double y(double value) const { return bottom_ - place(chart_.y, value) * (bottom_ - kTop); }

  void colour(ImU32 packed) {
    const auto channel = [&](int shift) { return ((packed >> shift) & 0xFF) / 255.0; };
    cairo_set_source_rgba(pen_.get(), channel(IM_COL32_R_SHIFT), channel(IM_COL32_G_SHIFT),
                          channel(IM_COL32_B_SHIFT), channel(IM_COL32_A_SHIFT));
  }

  double width_of(const std::string& text, double size, const Face& in) {
    cairo_set_font_face(pen_.get(), in.get());
    cairo_set_font_size(pen_.get(), size);
    cairo_text_extents_t extents;
    cairo_text_extents(pen_.get(), text.c_str(), &extents);
    return extents.x_advance;
  }

  void words(const std::string& text, double at_x, double baseline, double size, ImU32 in, Side side,
             const Face& of) {
    const double width = width_of(text, size, of);
    const double left = side == Side::Left ? at_x : side == Side::Right ? at_x - width : at_x - width / 2;
    colour(in);
    cairo_move_to(pen_.get(), left, baseline);
    cairo_show_text(pen_.get(), text.c_str());
  }

  void stroke(double x1, double y1, double x2, double y2, double thickness) {
    cairo_set_line_width(pen_.get(), thickness);
    cairo_move_to(pen_.get(), x1, y1);
    cairo_line_to(pen_.get(), x2, y2);
    cairo_stroke(pen_.get());
  }

  ImU32 colour_of(const ChartSeries& series) const {
    return series.look == ChartSeries::Look::Points ? theme_.forward : theme_.rank_outlines[1];
  }

  void dot(double at_x, double at_y, ImU32 in, bool hollow) {
    cairo_arc(pen_.get(), at_x, at_y, kDot, 0, 2 * M_PI);
    colour(hollow ? theme_.panel : in);
    cairo_fill_preserve(pen_.get());
    colour(in);
    cairo_set_line_width(pen_.get(), 2);
    cairo_stroke(pen_.get());
  }

  void head() {
    words(chart_.title, kLeft, 40, kTitle, theme_.text, Side::Left, bold_);
    words(chart_.subtitle, kLeft, 66, kSmall, theme_.dim, Side::Left, plain_);
    double left = kLeft;
    for (const ChartSeries& series : chart_.series) {
      const double middle = 90;
      colour(colour_of(series));
      if (series.look == ChartSeries::Look::Line) {
        stroke(left, middle, left + 32, middle, 2.5);
      } else {
        stroke(left + 16, middle - 9, left + 16, middle + 9, 1.5);
        dot(left + 16, middle, colour_of(series), false);
      }
      words(series.name, left + 42, middle + 5, kBody, theme_.text, Side::Left, plain_);
      left += 42 + width_of(series.name, kBody, plain_) + 36;
    }
  }

  void axes() {
    for (const ChartTick& tick : chart_.y.ticks) {
      const double at = std::round(y(tick.value)) + 0.5;
      colour(theme_.line);
      stroke(kLeft, at, right_, at, 1);
      words(tick.text, kLeft - 10, at + 5, kSmall, theme_.dim, Side::Right, plain_);
    }
    for (const ChartTick& tick : chart_.x.ticks) {
      const double at = std::round(x(tick.value)) + 0.5;
      colour(theme_.line);
      stroke(at, kTop, at, bottom_, 1);
      words(tick.text, at, bottom_ + 22, kSmall, theme_.dim, Side::Middle, plain_);
    }
    words(chart_.x.label, (kLeft + right_) / 2, bottom_ + 48, kBody, theme_.text, Side::Middle, plain_);
    cairo_save(pen_.get());
    cairo_translate(pen_.get(), 26, (kTop + bottom_) / 2);
    cairo_rotate(pen_.get(), -M_PI / 2);
    words(chart_.y.label, 0, 0, kBody, theme_.text, Side::Middle, plain_);
    cairo_restore(pen_.get());
    double baseline = bottom_ + kAxisRoom + 12;
    for (const std::string& note : chart_.notes) {
      words(note, kLeft, baseline, kSmall, theme_.dim, Side::Left, plain_);
      baseline += kNoteLine;
    }
  }

  void line(const ChartSeries& series) {
    colour(colour_of(series));
    cairo_set_line_width(pen_.get(), 2.5);
    cairo_set_line_join(pen_.get(), CAIRO_LINE_JOIN_ROUND);
    cairo_new_path(pen_.get());  // drop the current point that drawing text leaves
    for (const ChartPoint& point : series.points) cairo_line_to(pen_.get(), x(point.x), y(point.y));
    cairo_stroke(pen_.get());
  }

  void points(const ChartSeries& series) {
    for (const ChartPoint& point : series.points) {
      const double at_x = x(point.x);
      colour(colour_of(series));
      if (point.low > 0 && point.high > 0) {
        stroke(at_x, y(point.low), at_x, y(point.high), 1.5);
        stroke(at_x - kCap, y(point.low), at_x + kCap, y(point.low), 1.5);
        stroke(at_x - kCap, y(point.high), at_x + kCap, y(point.high), 1.5);
      }
      dot(at_x, y(point.y), colour_of(series), point.hollow);
      label(point, at_x);
    }
  }

  // Draws the label above the point and its spread, inside the page.
  void label(const ChartPoint& point, double at_x) {
    double widest = 0;
    for (const std::string& text : point.words) widest = std::max(widest, width_of(text, kSmall, plain_));
    const double middle = within(at_x, kLeft + widest / 2 + 4, right_ - widest / 2 - 4);
    double baseline =
        y(std::max(point.y, point.high)) - 14 - (kSmall + 3) * (static_cast<double>(point.words.size()) - 1);
    const double height = (kSmall + 3) * static_cast<double>(point.words.size());
    if (!point.words.empty()) {  // cover the grid lines behind the words
      colour(theme_.panel);
      cairo_rectangle(pen_.get(), middle - widest / 2 - 3, baseline - kSmall, widest + 6, height + 2);
      cairo_fill(pen_.get());
    }
    for (const std::string& text : point.words) {
      words(text, middle, baseline, kSmall, theme_.text, Side::Middle, plain_);
      baseline += kSmall + 3;
    }
  }

  const Chart& chart_;
  const Theme& theme_;
  Face plain_, bold_;
  Surface surface_;
  Pen pen_;
  double bottom_ = 0, right_ = 0;
};

}  // namespace
}  // namespace ui

}  // namespace shardlens

extern "C" void shardlens_draw_chart(const shardlens::Chart& chart, std::string& png) {
  png = shardlens::ui::Drawing(chart).png();
}
