// Derives what picks rows: lookups in a table, first tokens, the cache. A lookup is a product with a matrix
// of zeros and ones, so the ranks' parts of it follow as for any product.
#include <fmt/format.h>

#include <string>

#include "engine/derivation/deriver.h"

namespace shardlens::formulas {
namespace {

/// "rank 0 holds the rows 0 to 255 of Wte"
std::string held_rows(const Deriver& d, TensorId table) {
  const std::vector<Placement> held = placements(d.tensor(table), d.ranks(), 0);
  if (held.empty()) return {};
  return fmt::format("rank 0 holds the rows {} to {} of {}", held.front().rows.begin,
                     held.front().rows.end - 1, d.tensor(table).symbol);
}

void derive_lookup(Deriver& d) {
  const TensorId ids = d.in(Operand::Ids), table = d.in(Operand::Table);
  const Math e = d.whole(d.out(Operand::Y)), w = d.whole(table);
  const Math one_hot = Deriver::named("I", rows_of(ids), rows_of(table));
  d.line(e, picked(w, d.whole(ids)), fmt::format("row t is row {}[t] of {}", d.tensor(ids).symbol, w.text));
  d.with_ranks(e, product({one_hot, w}),
               {.first = "I has one 1 in each row, at the id; " + d.sizes(e, {one_hot, w}),
                .parts = d.is_terms(e) ? held_rows(d, table) : "",
                .each = d.is_terms(e) ? "zeros for the rows that other ranks hold"
                                      : "rank r: its own tokens, or its own columns"});
}

void derive_lookup_gradient(Deriver& d) {
  const TensorId ids = d.in(Operand::Ids), dy = d.in(Operand::Dy);
  const Math dw = d.whole(d.out(Operand::TableGrad));
  const Math one_hot = Deriver::named("I", rows_of(ids), rows_of(dw.tensor));
  const bool adds = d.has(Operand::Previous);
  const Step* const lookup = d.forward_step(Op::Embedding, Operand::Ids, ids);
  const std::string e = lookup == nullptr ? d.without_d(dy) : d.tensor(lookup->outputs.front()).symbol;
  d.line(d.derivative(dw.tensor), product({transposed(one_hot), d.derivative(dy, e)}),
         fmt::format("chain rule, because {} = I · {}; I has one 1 in each row, at the id", e,
                     d.without_d(dw.tensor)));
  std::vector<Math> terms{product({transposed(one_hot), d.whole(dy)})};
  if (adds) terms.insert(terms.begin(), d.whole(d.in(Operand::Previous)));
  std::string first = "the rows with the same id are added up";
  if (const std::string passed = d.passed_on(dy, e); !passed.empty()) first += "; " + passed;
  if (d.step().attributes.no_gradient_id >= 0)
    first += fmt::format("; id {} is padding and gets none", d.step().attributes.no_gradient_id);
  d.with_ranks(dw, sum(terms),
               {.first = first,
                .each = d.is_terms(dw) ? "rank r: of its own tokens" : "rank r: its own part of the table",
                .relation = adds ? Relation::Assign : Relation::Equal});
}

void derive_first_token(Deriver& d) {
  const bool backward = d.step().op == Op::FirstTokenGrad;
  const Math x = d.whole(d.in(backward ? Operand::Dy : Operand::X));
  const Math y = d.whole(d.out(backward ? Operand::Dx : Operand::Y));
  const Math picks =
      Deriver::named("F", rows_of(backward ? x.tensor : y.tensor), rows_of(backward ? y.tensor : x.tensor));
  const Math left = backward ? d.derivative(y.tensor) : y;
  if (backward)
    d.line(left, product({transposed(picks), d.derivative(x.tensor)}),
           fmt::format("chain rule, because {} = F · {}", d.without_d(x.tensor), d.without_d(y.tensor)));
  d.with_ranks(y, product({backward ? transposed(picks) : picks, x}),
               {.first = backward ? "zero except at each sequence's first token"
                                  : "F has one 1 in each row, at a sequence's first token"});
}

void derive_cache(Deriver& d) {
  const TensorId fresh = d.in(Operand::NewKv), positions = d.in(Operand::Positions);
  const TensorId keys = d.out(Operand::Keys), values = d.out(Operand::Values);
  const Extent rows = rows_of(fresh);
  const Math k = Deriver::named("K'", rows, cols_of(keys)), v = Deriver::named("V'", rows, cols_of(values));
  const Math q = Deriver::named("Q'", rows, cols_of(keys));
  const bool grouped = d.program().settings.model.is_grouped();
  d.line(d.whole(fresh), grouped ? block_row({k, v}) : block_row({q, k, v}), "of the new tokens");
  d.line(picked(d.whole(keys), d.whole(positions)), k, "the new rows of the cache", Relation::Assign);
  d.line(picked(d.whole(values), d.whole(positions)), v, "the other rows stay", Relation::Assign);
  const Math all = d.whole(keys);
  if (d.is_cut(all)) d.line(all, d.in_parts(all), "cut with the heads: nothing is sent");
}

}  // namespace

void derive_rows(Deriver& d) {
  switch (d.step().op) {
    case Op::Embedding:
      return derive_lookup(d);
    case Op::EmbeddingGrad:
      return derive_lookup_gradient(d);
    case Op::CacheAppend:
      return derive_cache(d);
    default:
      return derive_first_token(d);
  }
}

}  // namespace shardlens::formulas
