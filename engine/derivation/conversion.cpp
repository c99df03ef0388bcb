// Derives conversions between layouts: what the ranks have before and after, as blocks and terms.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "engine/derivation/deriver.h"

namespace shardlens::formulas {
namespace {

constexpr size_t kMostTensors = 3;  // of a bucket that are written

/// Every rank's part of `symbol`, or the whole where it has all of it.
Math held_by(const Deriver& d, const Math& symbol, int rank) {
  return d.is_cut(symbol) ? d.only_part_of(symbol, rank) : symbol;
}

/// A line for each rank, "before → after"; the first and the last of many ranks, and of tall matrices.
void say_ranks(Deriver& d, const Math& before, const Math& after, const std::string& what) {
  Math ranks;
  ranks.kind = MathKind::Blocks;
  ranks.count = d.ranks();
  const bool tall = d.in_parts(before).column || d.in_parts(after).column;
  for (const int rank : shown_parts(ranks)) {
    if (rank < 0 || (tall && rank > 0 && rank + 1 < d.ranks())) continue;
    const bool first = rank == 0;
    const Math right = after.kind == MathKind::Symbol ? held_by(d, after, rank) : after;
    d.line(held_by(d, before, rank), right, fmt::format("rank {}{}", rank, first ? ": " + what : ""),
           Relation::Becomes);
  }
}

/// What the other half of f or g does in the other pass, and why this one is the identity.
void say_other_half(Deriver& d) {
  const Step& step = d.step();
  if (step.pair < 0) return;
  const Step& half = d.program().step(step.pair);
  const Math in = d.whole(half.inputs[0]), out = d.whole(half.outputs[0]);
  if (half.op != Op::AllReduce || !d.is_terms(in)) return;
  if (step.conjugate == Conjugate::F)
    return d.line(
        out, d.in_parts(in),
        fmt::format("f in the backward pass: every rank uses {}, and the gradients of all uses add up",
                    d.without_d(out.tensor)));
  d.line(out, d.in_parts(in), "g in the forward pass: the sum of the terms");
  Math term = d.for_each_rank(in), whole = out;
  term.gradient = whole.gradient = true;
  d.line(term, whole, "so a term's gradient is the sum's, on every rank");
}

void derive_identity(Deriver& d) {
  const Step& step = d.step();
  const Math x = d.whole(step.inputs[0]), y = d.whole(step.outputs[0]);
  const bool skipped = d.is_terms(x) && !d.is_terms(y);
  const char* const name = step.conjugate == Conjugate::F   ? "f here: "
                           : step.conjugate == Conjugate::G ? "g here: "
                                                            : "";
  const std::string remark = fmt::format("{}the identity, nothing is sent", name);
  if (!skipped) {
    d.line(y, x, remark);
    if (d.is_cut(y)) d.next(d.in_parts(y));
    return say_other_half(d);
  }
  d.line(y, d.in_parts(x), "what the next step needs");
  d.line(y, d.for_each_rank(x), "what rank r goes on with: its own term, because nothing sums the terms",
         Relation::NotEqual);
}

/// A sum over the replicas, which hold the same slices.
void say_replicas(Deriver& d, const Math& in, const Math& out, const std::string& remark) {
  Math term = in, all;
  term.held = Held::Replica;
  all.kind = MathKind::RankSum;
  all.text = "d";
  all.count = d.program().dp();
  all.parts = {term};
  d.line(out, all, remark);
  all.written_out = true;
  d.next(all);
}

void derive_all_reduce(Deriver& d) {
  const Step& step = d.step();
  const size_t tensors = step.outputs.size(), written = std::min(tensors, kMostTensors);
  for (size_t at = 0; at < written; ++at) {
    const Math in = d.whole(step.inputs[at]), out = d.whole(step.outputs[at]);
    std::string remark = d.size(out);
    if (step.axis == Axis::Dp) {
      remark = fmt::format("{} replicas: each has a term from its own rows of the batch", d.program().dp());
      if (d.is_cut(out)) remark += "; rank r sums its slice";
      say_replicas(d, in, out, at == 0 ? remark : "");
      continue;
    }
    Math terms = d.in_parts(in);
    d.line(out, terms, terms.largest ? "the largest of all ranks" : "the sum of all ranks' terms: " + remark);
    if (terms.kind == MathKind::RankSum && !terms.written_out && !terms.largest) {
      terms.written_out = true;
      d.next(terms);
    }
    if (d.is_cut(out)) d.next(d.in_parts(out), "each sum among the ranks that hold the same slice");
    if (at > 0 || terms.kind != MathKind::RankSum) continue;
    d.line(d.for_each_rank(in), out, "each rank r: its own term becomes the whole", Relation::Becomes);
  }
  if (tensors > written)
    d.next(words(fmt::format("and {} more in the same way", tensors - written)),
           "one message for all of them", Relation::None);
}

void derive_reduce_scatter(Deriver& d) {
  const Math in = d.whole(d.step().inputs[0]), out = d.whole(d.step().outputs[0]);
  Math terms = d.in_parts(in);
  d.line(out, terms, "the sum of all ranks' terms: " + d.size(out));
  d.next(d.in_parts(out), "each rank keeps only its own block of the sum");
  say_ranks(d, in, out, "its term becomes its block of the sum");
}

void derive_moved(Deriver& d, const std::string& what) {
  const Math in = d.whole(d.step().inputs[0]), out = d.whole(d.step().outputs[0]);
  const Math before = d.in_parts(in), after = d.in_parts(out);
  if (before.column || after.column)  // tall: the ranks' lines show both already
    return say_ranks(d, in, d.is_cut(out) ? out : before,
                     fmt::format("{}; {} → {}, {}", what, to_string(d.tensor(in.tensor).layout),
                                 to_string(d.tensor(out.tensor).layout), d.size(in)));
  if (d.is_cut(in))
    d.line(out, before, "before: " + to_string(d.tensor(in.tensor).layout) + ", " + d.size(in));
  if (d.is_cut(out)) {
    const std::string remark = "after: " + to_string(d.tensor(out.tensor).layout) + ", " + d.size(out);
    d.is_cut(in) ? d.next(after, remark) : d.line(out, after, remark);
  }
  say_ranks(d, in, d.is_cut(out) ? out : before, what);
}

/// The tensor's name with "part1" as its subscript.
std::string part_name(std::string symbol, size_t part) {
  const size_t end = std::min(symbol.find('\''), symbol.size());
  return symbol.insert(end, fmt::format("part{}", part));
}

void derive_join(Deriver& d) {
  const Math out = d.whole(d.step().outputs[0]);
  std::vector<Math> parts;
  for (size_t at = 0; at < d.step().inputs.size(); ++at) {
    Math part = d.whole(d.step().inputs[at]);
    part.text = part_name(part.text, at);
    parts.push_back(std::move(part));
  }
  d.line(out, block_column(std::move(parts)), "the parts lie one below the other: nothing moves");
}

}  // namespace

void derive_conversion(Deriver& d) {
  switch (d.step().op) {
    case Op::AllReduce:
      return derive_all_reduce(d);
    case Op::ReduceScatter:
      return derive_reduce_scatter(d);
    case Op::AllGather:
      return derive_moved(d, "its block becomes all blocks");
    case Op::AllToAll:
      return derive_moved(d, "its rows become its columns, or the reverse");
    case Op::Slice:
      return derive_moved(d, "it keeps its own block, nothing is sent");
    case Op::Join:
      return derive_join(d);
    default:
      return derive_identity(d);
  }
}

}  // namespace shardlens::formulas
