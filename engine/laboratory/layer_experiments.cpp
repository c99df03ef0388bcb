// Experiments with the operations of a layer that work on each number alone.
#include <algorithm>

#include "engine/laboratory/tables.h"

namespace shardlens::lab {
namespace {

constexpr int kRoundLimit = 127;

// An experiment whose operation works on every number alone: pieces are exact, whatever the cut.
Experiment element_by_element(Experiment e, bool is_linear, std::string why_shares) {
  e.ways.push_back(same_on_each(e, kPartial, Joined::Summed, is_linear, std::move(why_shares)));
  const char* const why = "Each number of the result needs one number of X, so every cut is right.";
  e.ways.push_back(same_on_each(e, kByTokens, Joined::Rows, true, why));
  e.ways.push_back(same_on_each(e, kByColumns, Joined::Columns, true, why));
  return e;
}

Experiment gelu_experiment() {
  return element_by_element(
      {.name = "GeLU",
       .formula = "Y = GeLU(X)",
       .operand = "the product's result",
       .ops = {Op::Gelu},
       .whole =
           [](const Bench& bench, const Numbers& x) {
             Numbers y(x.rows, x.cols);
             bench.device().gelu(DType::Fp32, Activation::GeluTanh, x.count(), x.data(), y.data());
             return y;
           },
       .ways = {}},
      false, "GeLU is not linear: its graph is a curve. So the terms must be summed before it.");
}

Numbers gelu_gradient(const Bench& bench, const Numbers& h, const Numbers& dy) {
  Numbers dx(h.rows, h.cols);
  bench.device().gelu_grad({.count = h.count(), .x = h.data(), .dy = dy.data(), .dx = dx.data()});
  return dx;
}

// An operand that is cut as X is: the rows or columns of this rank, or all of it.
Numbers cut_alike(const Bench& bench, Layout layout, const Numbers& whole, int rank) {
  if (layout.kind != LayoutKind::Sharded) return whole;
  return layout.dim == 0 ? rows_of(whole, bench.token_range(rank)) : cols_of(whole, bench.column_range(rank));
}

// A gradient dX = dY ∘ g(other): linear in dY, and every cut is right if `other` is cut alike.
Experiment elementwise_gradient(const char* name, const char* formula, Op op, const char* other_name,
                                Numbers (*gradient)(const Bench&, const Numbers& other, const Numbers& dy),
                                Numbers (*other)(const Bench&)) {
  Experiment e{
      .name = name,
      .formula = formula,
      .operand = "the output's gradient",
      .ops = {op},
      .whole = [=](const Bench& bench, const Numbers& dy) { return gradient(bench, other(bench), dy); },
      .ways = {}};
  const auto way = [&](Layout layout, Joined joined, std::string why) {
    e.ways.push_back({.layout = layout,
                      .name = layout == kPartial ? std::string(other_name) + " whole"
                                                 : std::string(other_name) + " cut alike",
                      .joined = joined,
                      .why = std::move(why),
                      .on_rank = [=](const Bench& bench, const Numbers& dy, int rank) {
                        return gradient(bench, cut_alike(bench, layout, other(bench), rank), dy);
                      }});
  };
  way(kPartial, Joined::Summed,
      std::string("The slope comes from ") + other_name +
          ", which is whole. dY is only multiplied by it, which is linear, so gradients may be summed "
          "later.");
  const char* const why = "Each number of dX needs one number of each operand, so every cut is right.";
  way(kByTokens, Joined::Rows, why);
  way(kByColumns, Joined::Columns, why);
  return e;
}

Numbers gelu_input(const Bench& bench) {
  return bench.drawn("gelu input", kTokens, kHidden);
}

Experiment gelu_slope_experiment() {
  return element_by_element(
      {.name = "GeLU gradient, of H",
       .formula = "dX = dY ∘ GeLU'(H)",
       .operand = "the GeLU's input H",
       .ops = {Op::GeluGrad},
       .whole =
           [](const Bench& bench, const Numbers& h) {
             Numbers dy(h.rows, h.cols);
             std::fill(dy.values.begin(), dy.values.end(), 1.0f);
             return gelu_gradient(bench, h, dy);
           },
       .ways = {}},
      false,
      "The slope of GeLU is not linear in its input: the slope at a sum is not the sum of the slopes.");
}

// The dropout of elements that lie in the full tensor as `place` says.
Numbers dropped(const Bench& bench, const Numbers& x, RowRuns place, uint64_t stream) {
  constexpr double kProbability = 0.5;
  Numbers y(x.rows, x.cols);
  bench.device().dropout(DType::Fp32, {.probability = kProbability, .seed = 1, .stream = stream}, place,
                         x.data(), y.data());
  return y;
}

RowRuns place_of(Layout layout, const Bench& bench, const Numbers& x, int rank) {
  const int64_t first = layout == kByTokens    ? bench.token_range(rank).begin * kHidden
                        : layout == kByColumns ? bench.column_range(rank).begin
                                               : 0;
  return {.first = first, .rows = x.rows, .run = x.cols, .stride = kHidden};
}

Experiment dropout_experiment() {
  constexpr uint64_t kStream = 7;
  Experiment e{.name = "dropout",
               .formula = "Y = X ∘ mask / (1 − p), p = 0.5",
               .operand = "the block's output",
               .ops = {Op::Dropout},
               .whole =
                   [](const Bench& bench, const Numbers& x) {
                     return dropped(bench, x, place_of(kReplicated, bench, x, 0), kStream);
                   },
               .ways = {}};
  Way one_mask = same_on_each(e, kPartial, Joined::Summed, true,
                              "With one mask for all ranks, dropout only multiplies each number by 0 or by "
                              "1/(1 − p), which is linear.");
  one_mask.name = "one mask on all ranks";
  e.ways.push_back(one_mask);
  e.ways.push_back({.layout = kPartial,
                    .name = "a mask of its own on every rank",
                    .joined = Joined::Summed,
                    .why = "Every rank drops other numbers, so the sum keeps some terms of a number and not "
                           "the others. It is no mask of the sum.",
                    .is_right = false,
                    .on_rank = [](const Bench& bench, const Numbers& x, int rank) {
                      return dropped(bench, x, place_of(kPartial, bench, x, rank),
                                     kStream + static_cast<uint64_t>(rank));
                    }});
  for (const Layout layout : {kByTokens, kByColumns}) {
    const Joined joined = layout == kByTokens ? Joined::Rows : Joined::Columns;
    e.ways.push_back({.layout = layout,
                      .name = "drawn by place in the whole",
                      .joined = joined,
                      .why = "A number's draw depends only on its place in the whole tensor, so each rank "
                             "draws its piece of the one mask.",
                      .on_rank = [layout](const Bench& bench, const Numbers& x, int rank) {
                        return dropped(bench, x, place_of(layout, bench, x, rank), kStream);
                      }});
    e.ways.push_back(
        {.layout = layout,
         .name = "drawn from the piece's beginning",
         .joined = joined,
         .why = "Every rank draws the same first numbers, so all pieces get the mask of the first "
                "piece. It is another mask than that of one rank.",
         .is_right = false,
         .on_rank = [](const Bench& bench, const Numbers& x, int) {
           return dropped(bench, x, {.first = 0, .rows = x.rows, .run = x.cols, .stride = x.cols}, kStream);
         }});
  }
  return e;
}

Experiment tanh_experiment() {
  return element_by_element({.name = "tanh",
                             .formula = "Y = tanh(X)",
                             .operand = "the pooler's product",
                             .ops = {Op::Tanh},
                             .whole =
                                 [](const Bench& bench, const Numbers& x) {
                                   Numbers y(x.rows, x.cols);
                                   bench.device().tanh(DType::Fp32, x.count(), x.data(), y.data());
                                   return y;
                                 },
                             .ways = {}},
                            false, "tanh is not linear: no result is above 1, but a sum of results can be.");
}

Numbers tanh_output(const Bench& bench) {
  const Numbers x = bench.drawn("tanh input", kTokens, kHidden);
  Numbers y(x.rows, x.cols);
  bench.device().tanh(DType::Fp32, x.count(), x.data(), y.data());
  return y;
}

Numbers tanh_gradient(const Bench& bench, const Numbers& y, const Numbers& dy) {
  Numbers dx(y.rows, y.cols);
  bench.device().tanh_grad({.count = y.count(), .y = y.data(), .dy = dy.data(), .dx = dx.data()});
  return dx;
}

Experiment round_experiment() {
  return element_by_element(
      {.name = "rounding",
       .formula = "Y = nearest integer of X",
       .operand = "integer operands' results",
       .ops = {Op::Round},
       .whole =
           [](const Bench& bench, const Numbers& x) {
             Numbers y(x.rows, x.cols);
             bench.device().round(DType::Fp32, x.count(), kRoundLimit, x.data(), y.data());
             return y;
           },
       .ways = {}},
      false, "0.4 + 0.4 rounds to 1, but 0.4 rounds to 0 twice: rounding each term loses the parts.");
}

}  // namespace

void add_layer_experiments(std::vector<Experiment>& table) {
  table.push_back(gelu_experiment());
  table.push_back(dropout_experiment());
  table.push_back(elementwise_gradient("GeLU gradient", "dX = dY ∘ GeLU'(H)", Op::GeluGrad, "H",
                                       gelu_gradient, gelu_input));
  table.push_back(gelu_slope_experiment());
  table.push_back(tanh_experiment());
  table.push_back(elementwise_gradient("tanh gradient", "dX = dY ∘ (1 − Y²)", Op::TanhGrad, "Y",
                                       tanh_gradient, tanh_output));
  table.push_back(round_experiment());
}

}  // namespace shardlens::lab
