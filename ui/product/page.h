// Shared by the pages of an opened step: the room, the type, and how much the rows are stretched to fill it.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "engine/runtime/snapshot.h"
#include "ui/context.h"
#include "ui/panels/parts.h"
#include "ui/product/number.h"
#include "ui/stage/lanes.h"
#include "ui/widgets/paint.h"

namespace shardlens::ui {

using stage::Rect;

/// In a narrower room, at scale 1, things stand below each other instead of side by side.
inline constexpr float kSideBySide = 480;

struct OpenedPage {
  explicit OpenedPage(const Context& frame) : context(frame), theme(frame.theme), type(frame) {}

  const Context& context;
  const Theme& theme;
  Type type;
  ImDrawList* list = nullptr;
  float unit = 1;  ///< rows and large numbers are this much taller than their measure

  float px(float at_scale_one) const { return context.px(at_scale_one); }
  float tall(float at_scale_one) const { return std::round(px(at_scale_one) * unit); }
  TextStyle big(float at_scale_one, ImU32 colour) const {
    return {context.fonts.mono, tall(at_scale_one), colour};
  }
  bool stacks(const stage::Rect& room) const { return room.width() < px(kSideBySide); }
  /// A thin line's thickness.
  float thin(float at_scale_one = 1) const { return std::max(1.0f, std::round(px(at_scale_one))); }
  ImU32 rank_ink(int rank) const { return theme.rank_outlines[rank % 8]; }
};

/// Why a page has nothing to show.
void draw_missing(const OpenedPage& page, const std::string& why, const Rect& room);

/// "Z[17, 203]".
std::string element_text(const std::string& symbol, int64_t row, int64_t col);

/// The formula, "Z[17, 203] = Σ G[17, k] · Wproj[k, 203]", and at the right where that is in the matrices.
void draw_formula(const OpenedPage& page, const Number& number, const Rect& room);

/// The panel of the lanes: every rank's pieces, its term, what comes between, and the sum.
void draw_number(const OpenedPage& page, const std::shared_ptr<const Number>& number, const Rect& room);
/// The height it needs.
inline constexpr float kStretchedRows = 270;  ///< the part of it, at scale 1, that grows with the page's unit
float number_height(const OpenedPage& page);
/// Its last two rows: the collective or why there is none; the sum beside the serial run's number.
void draw_band_of_number(const OpenedPage& page, const Number& number, const Rect& band);
void draw_sum_of_number(const OpenedPage& page, const Number& number, const Rect& box);
/// Which ranks hold the finished number.
std::string holder_words(const Number& number);

/// What GeLU makes of the sum and of the terms, or, for a gradient, what each rank would go on with alone.
/// `terms`: the number, or the same number cut into terms; the number itself if it is not cut at all.
void draw_bend(const OpenedPage& page, const Number& number, const Number& terms, const Rect& room);
/// The heading of that panel.
std::string bend_title(const Number& number);

/// The factors and the result as matrices side by side, with every rank's part in place. A click on the
/// result opens a number.
void draw_matrices(const OpenedPage& page, const Product& product, const Rect& room);

/// The selected step line by line, as large as fits; it scrolls if even small lines do not fit.
void draw_derivation_page(const OpenedPage& page, const Rect& room);

/// Attention's scores and probabilities, by head and rank.
void draw_heads(const OpenedPage& page, const Step& step, const Rect& room);

}  // namespace shardlens::ui
