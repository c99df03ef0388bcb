// What GeLU makes of a number's terms, and of their sum.
#pragma once

#include <vector>

#include "ui/product/page.h"

namespace shardlens::ui {

struct Bend {
  std::vector<double> x, y;  ///< the terms, and GeLU of each
  std::vector<int> ranks;
  double sum = 0, of_sum = 0, sum_of = 0;
};

/// Of a number without terms: of the number itself.
Bend bend_of(const Number& number);

/// Draws the curve zoomed to the terms beside a straight line, and small the whole curve.
void draw_curve(const OpenedPage& page, const Number& number, const Bend& bend, const Rect& room);

}  // namespace shardlens::ui
