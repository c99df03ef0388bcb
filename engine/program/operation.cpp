// The table of operations, and the functions that read it.
#include "engine/program/operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "engine/base/suggest.h"
#include "engine/program/program.h"

namespace shardlens {
namespace {

bool is_kind(const Program& program, TensorId id, MemoryKind kind) {
  return id != kNoTensor && program.tensor(id).kind == kind;
}

const Tensor& first_output(const Program& program, const Step& step) {
  return program.tensor(step.outputs[0]);
}

constexpr const char* kOwnTermNote = "each rank: its own term";

std::string product_note(const Program& program, const Step& step) {
  const std::string cut = weight_cut(program, step);
  return cut == "replicated" ? kSameNote : cut;
}

std::string gradient_note(const Program& program, const Step& step) {
  switch (first_output(program, step).layout.kind) {
    case LayoutKind::Partial:
      return kOwnTermNote;
    case LayoutKind::Sharded:
      return "local: its own slice";
    case LayoutKind::Replicated:
      return kSameNote;
  }
  return {};
}

std::string elementwise_note(const Program& program, const Step& step) {
  const Tensor& out = first_output(program, step);
  if (out.layout.kind == LayoutKind::Partial) return kOwnTermNote;
  if (out.layout.kind != LayoutKind::Sharded) return kSameNote;
  return out.layout.dim >= out.row_dims ? "local: whole columns" : "local: whole rows";
}

std::string bias_note(const Program& program, const Step& step) {
  if (input_place(program, step, Operand::Addend)) return "bias and residual sum";
  if (step.attributes.one_rank) return "bias, on rank 0 alone";
  const bool summed = program.tp() > 1 && first_output(program, step).layout == kReplicated;
  return summed ? "bias, after the sum" : elementwise_note(program, step);
}

std::string norm_note(const Program& program, const Step& step) {
  const bool sums_first = input_place(program, step, Operand::Addend).has_value();
  return sums_first ? step.equation.substr(0, step.equation.find("; ")) : "whole tokens";
}

std::string norm_gradient_note(const Program& program, const Step& step) {
  const bool sums_after = input_place(program, step, Operand::Addend).has_value();
  return sums_after ? "whole tokens, then sum" : "whole tokens";
}

// A mask is drawn by the elements' places in the whole tensor, so copies have the same mask, and slices have
// their parts of one.
std::string mask_note(const Program& program, const Step& step) {
  if (program.tp() == 1) return "a random mask";
  const bool cut = first_output(program, step).layout.kind == LayoutKind::Sharded;
  switch (step.attributes.mask_draw) {
    case MaskDraw::OwnStreams:
      return "each rank its own mask";
    case MaskDraw::OneStream:
      return "rank 0's mask on all ranks";
    case MaskDraw::ByElement:
      return cut ? "its part of one mask" : "the same mask on all ranks";
  }
  return {};
}

std::string heads_note(const Program& program, const Step& step) {
  const bool cut = first_output(program, step).layout.kind == LayoutKind::Sharded;
  if (step.attributes.dropout == 0) return cut ? "local: whole heads" : "every head";
  return (cut ? "whole heads, " : "every head, ") + mask_note(program, step);
}

std::string add_note(const Program&, const Step& step) {
  return step.phase == Phase::Forward ? "residual sum" : "both branches summed";
}

std::string embedding_note(const Program& program, const Step& step) {
  const bool partial = first_output(program, step).layout.kind == LayoutKind::Partial;
  return partial ? "zeros for others' rows" : "rows by token";
}

std::string square_sum_note(const Program& program, const Step& step) {
  const bool partial = first_output(program, step).layout.kind == LayoutKind::Partial;
  return partial ? "of its own slices" : "counted once";
}

std::string name_note(const Program&, const Step& step) {
  return to_string(step.op);
}

constexpr OperandSlot optional(Operand operand) {
  return {operand, Presence::Optional};
}
constexpr OperandSlot grouped(Operand operand) {
  return {operand, Presence::Grouped};
}
constexpr OperandSlot repeated(Operand operand) {
  return {operand, Presence::Repeated};
}
constexpr OperandSlot kPrevious{Operand::Previous, Presence::Accumulated};

using enum Operand;
using enum OpPass;
using Kind = OpKind;
constexpr Collective kNone = Collective::None;
constexpr bool kByBatch = true, kNoBatch = false;

// clang-format off
constexpr Operation kOperations[] = {
    {Op::Linear, "linear", Kind::Product, Forward, kNone, kNoBatch,
     {{X}, {Weight}, optional(Bias)},
     {{Y}, optional(GeluInput)}, product_note},
    {Op::LinearGradInput, "linear-grad-input", Kind::Product, Backward, kNone, kNoBatch,
     {{Dy}, {Weight}, optional(GeluInput), kPrevious},
     {{Dx}, optional(BiasGrad)}, gradient_note},
    {Op::LinearGradWeight, "linear-grad-weight", Kind::Product, Backward, kNone, kNoBatch,
     {{X}, {Dy}, kPrevious},
     {{WeightGrad}, optional(BiasGrad)}, gradient_note},
    {Op::BiasAdd, "bias-add", Kind::ElementWise, Forward, kNone, kNoBatch,
     {{X}, {Bias}, optional(Addend)},
     {{Y}}, bias_note},
    {Op::BiasGrad, "bias-grad", Kind::ElementWise, Backward, kNone, kNoBatch,
     {{Dy}, kPrevious},
     {{BiasGrad}}, gradient_note},
    {Op::Gelu, "gelu", Kind::ElementWise, Forward, kNone, kNoBatch,
     {{GeluInput}},
     {{Y}}, elementwise_note},
    {Op::GeluGrad, "gelu-grad", Kind::ElementWise, Backward, kNone, kNoBatch,
     {{GeluInput}, {Dy}, kPrevious},
     {{Dx}, optional(BiasGrad)}, elementwise_note},
    {Op::LayerNorm, "layer-norm", Kind::ElementWise, Forward, kNone, kNoBatch,
     {{X}, {Gamma}, {Beta}, optional(Addend), optional(Bias)},
     {{Y}, {Stats}, optional(Sum)}, norm_note},
    {Op::LayerNormGrad, "layer-norm-grad", Kind::ElementWise, Backward, kNone, kNoBatch,
     {{X}, {Gamma}, {Stats}, {Dy}, kPrevious, kPrevious, optional(Addend)},
     {{Dx}, {GammaGrad}, {BetaGrad}}, norm_gradient_note},
    {Op::LayerNormSums, "layer-norm-sums", Kind::ElementWise, Forward, kNone, kNoBatch,
     {{X}},
     {{Sums}}, "two numbers per token"},
    {Op::LayerNormApply, "layer-norm-apply", Kind::ElementWise, Forward, kNone, kNoBatch,
     {{X}, {Gamma}, {Beta}, {Sums}},
     {{Y}, optional(Stats)}, "own slice, from the sums"},  // older recordings have no Stats
    {Op::LayerNormGradSums, "layer-norm-grad-sums", Kind::ElementWise, Backward, kNone, kNoBatch,
     {{X}, {Gamma}, {Stats}, {Dy}, kPrevious, kPrevious},
     {{GradSums}, {GammaGrad}, {BetaGrad}}, "two numbers per token"},
    {Op::LayerNormGradApply, "layer-norm-grad-apply", Kind::ElementWise, Backward, kNone, kNoBatch,
     {{X}, {Gamma}, {Stats}, {Dy}, {GradSums}},
     {{Dx}}, "own slice, from the sums"},
    {Op::Attention, "attention", Kind::Attention, Forward, kNone, kByBatch,
     {{Q}, grouped(Kv), optional(Mask)},
     {{Context}, {Saved}, optional(Workspace)}, heads_note},
    {Op::AttentionGrad, "attention-grad", Kind::Attention, Backward, kNone, kByBatch,
     {{Q}, grouped(Kv), {Saved}, {Context}, {ContextGrad}, optional(Mask)},
     {{QGrad}, grouped(KvGrad), optional(Workspace)}, heads_note},
    {Op::CacheAppend, "cache-append", Kind::RowCopy, Forward, kNone, kByBatch,
     {{NewKv}, {Positions}, {Keys}, {Values}},
     {{Keys}, {Values}}, "rows of the new tokens"},
    {Op::CachedAttention, "cached-attention", Kind::Attention, Forward, kNone, kByBatch,
     {{Q}, {Positions}, {Keys}, {Values}},
     {{Context}, {Saved}, optional(Workspace)}, heads_note},
    {Op::Add, "add", Kind::ElementWise, Any, kNone, kNoBatch,
     {{X}, {Addend}},
     {{Y}}, add_note},
    {Op::Embedding, "embedding", Kind::RowCopy, Forward, kNone, kNoBatch,
     {{Ids}, {Table}},
     {{Y}}, embedding_note},
    {Op::EmbeddingGrad, "embedding-grad", Kind::RowCopy, Backward, kNone, kNoBatch,
     {{Ids}, {Dy}, kPrevious},
     {{TableGrad}}, "rows summed by token"},
    {Op::FirstToken, "first-token", Kind::ElementWise, Forward, kNone, kByBatch,
     {{X}},
     {{Y}}, "first token of each sequence"},
    {Op::FirstTokenGrad, "first-token-grad", Kind::ElementWise, Backward, kNone, kByBatch,
     {{Dy}},
     {{Dx}}, "first token of each sequence"},
    {Op::Tanh, "tanh", Kind::ElementWise, Forward, kNone, kNoBatch,
     {{X}},
     {{Y}}, elementwise_note},
    {Op::TanhGrad, "tanh-grad", Kind::ElementWise, Backward, kNone, kNoBatch,
     {{Y}, {Dy}},
     {{Dx}}, elementwise_note},
    {Op::Dropout, "dropout", Kind::ElementWise, Any, kNone, kNoBatch,
     {{X}},
     {{Y}}, mask_note},
    {Op::VocabMax, "vocab-max", Kind::ElementWise, Forward, kNone, kNoBatch,
     {{Logits}},
     {{Max}}, "largest of its own columns"},
    {Op::TargetLogit, "target-logit", Kind::ElementWise, Forward, kNone, kNoBatch,
     {{Logits}, {Labels}},
     {{Target}}, "zero where another rank owns it"},
    {Op::SumExp, "sum-exp", Kind::ElementWise, Forward, kNone, kNoBatch,
     {{Logits}, {Max}},
     {{SumExp}}, "over its own columns"},
    {Op::CrossEntropy, "cross-entropy", Kind::ElementWise, Forward, kNone, kNoBatch,
     {{Max}, {Target}, {SumExp}, {TokenWeights}},
     {{Loss}}, "one number a token"},
    {Op::CrossEntropyGrad, "cross-entropy-grad", Kind::ElementWise, Backward, kNone, kNoBatch,
     {{Logits}, {Labels}, {Max}, {SumExp}, {TokenWeights}, optional(LossScale)},
     {{LogitsGrad}}, "local: nothing is sent"},
    {Op::SquareSum, "square-sum", Kind::ElementWise, Any, kNone, kNoBatch,
     {repeated(Terms)},
     {{Y}}, square_sum_note},
    {Op::ClipFactor, "clip-factor", Kind::ElementWise, Any, kNone, kNoBatch,
     {repeated(Terms)},
     {{Factor}}, "one number for all ranks"},
    {Op::AdamW, "adamw", Kind::ElementWise, Any, kNone, kNoBatch,
     {{Parameter}, {Gradient}, {FirstMoment}, {SecondMoment}, {Factor}, optional(Master)},
     {{Parameter}}, "its own slice, nothing sent"},
    {Op::Round, "round", Kind::ElementWise, Any, kNone, kNoBatch,
     {{X}},
     {{Y}}, "integers: sums are exact"},
    {Op::Identity, "identity", Kind::Conversion, Any, kNone, kNoBatch,
     {{X}},
     {{Y}}, "nothing to do here"},
    {Op::Slice, "slice", Kind::Conversion, Any, Collective::Slice, kNoBatch,
     {{X}},
     {{Y}}, "each rank keeps its own slice"},
    {Op::AllReduce, "all-reduce", Kind::Conversion, Any, Collective::AllReduce, kNoBatch,
     {repeated(Terms)},
     {repeated(Terms)}, name_note},
    {Op::ReduceScatter, "reduce-scatter", Kind::Conversion, Any, Collective::ReduceScatter, kNoBatch,
     {{X}},
     {{Y}}, name_note},
    {Op::AllGather, "all-gather", Kind::Conversion, Any, Collective::AllGather, kNoBatch,
     {{X}},
     {{Y}}, name_note},
    {Op::AllToAll, "all-to-all", Kind::Conversion, Any, Collective::AllToAll, kNoBatch,
     {{X}},
     {{Y}}, name_note},
    {Op::Join, "join", Kind::Alias, Any, kNone, kNoBatch,
     {repeated(Terms)},
     {{Y}}, "all rows are there: nothing moves"},
};
// clang-format on

constexpr bool is_in_order() {
  for (size_t i = 0; i < std::size(kOperations); ++i)
    if (static_cast<size_t>(kOperations[i].op) != i) return false;
  return true;
}
static_assert(is_in_order(), "one row for each Op, in the order of Op");

bool has(const Program& program, const Step& step, Presence presence) {
  switch (presence) {
    case Presence::Grouped:
      return program.settings.model.is_grouped();
    case Presence::Accumulated:
      return step.attributes.accumulate;
    case Presence::Always:
    case Presence::Optional:
    case Presence::Repeated:
      return true;
  }
  return true;
}

std::optional<size_t> place_of(const Program& program, const Step& step,
                               const OperandSlot (&slots)[kMostOperands], size_t tensors, Operand operand) {
  size_t place = 0;
  for (const OperandSlot& slot : slots) {
    if (slot.operand == None || place >= tensors) break;
    if (!has(program, step, slot.presence)) continue;
    if (slot.operand == operand) return place;
    ++place;
  }
  return std::nullopt;
}

size_t least_of(const Program& program, const Step& step, const OperandSlot (&slots)[kMostOperands]) {
  return static_cast<size_t>(std::count_if(std::begin(slots), std::end(slots), [&](const OperandSlot& slot) {
    const bool must = slot.operand != None && slot.presence != Presence::Optional;
    return must && has(program, step, slot.presence);
  }));
}

}  // namespace

std::span<const Operation> operations() {
  return kOperations;
}

const Operation& operation(Op op) {
  const auto row = static_cast<size_t>(op);
  if (row >= std::size(kOperations))
    throw std::logic_error(fmt::format("operation {} has no row in engine/program/operation.cpp", row));
  return kOperations[row];
}

std::string to_string(Op op) {
  return operation(op).name;
}

Op parse_op(const std::string& name) {
  std::vector<std::string> known;
  for (const Operation& row : kOperations) {
    if (name == row.name) return row.op;
    known.emplace_back(row.name);
  }
  throw unknown_name("operation", name, known);
}

std::string op_name(Op op, bool overlapped) {
  return to_string(op) + (overlapped ? ", overlapped" : "");
}

Collective collective_of(Op op) {
  return operation(op).collective;
}

Op op_of(Collective collective) {
  for (const Operation& row : kOperations)
    if (row.kind == OpKind::Conversion && row.collective == collective) return row.op;
  throw std::logic_error("no operation is the conversion " + to_string(collective));
}

bool is_collective(Op op) {
  const Collective collective = collective_of(op);
  return collective != Collective::None && collective != Collective::Slice;
}

bool is_conversion(Op op) {
  return operation(op).kind == OpKind::Conversion;
}

bool is_recomputed(const Step& step) {
  return step.phase == Phase::Backward && operation(step.op).pass == OpPass::Forward;
}

std::optional<size_t> input_place(const Program& program, const Step& step, Operand operand) {
  return place_of(program, step, operation(step.op).inputs, step.inputs.size(), operand);
}

std::optional<size_t> output_place(const Program& program, const Step& step, Operand operand) {
  return place_of(program, step, operation(step.op).outputs, step.outputs.size(), operand);
}

TensorId input_of(const Program& program, const Step& step, Operand operand) {
  const std::optional<size_t> place = input_place(program, step, operand);
  return place ? step.inputs[*place] : kNoTensor;
}

TensorId output_of(const Program& program, const Step& step, Operand operand) {
  const std::optional<size_t> place = output_place(program, step, operand);
  return place ? step.outputs[*place] : kNoTensor;
}

size_t least_inputs(const Program& program, const Step& step) {
  return least_of(program, step, operation(step.op).inputs);
}

size_t least_outputs(const Program& program, const Step& step) {
  return least_of(program, step, operation(step.op).outputs);
}

Factors factors_of(const Step& step) {
  const bool out_in = step.attributes.transposed;  // W is stored [out, in]
  switch (step.op) {
    case Op::Linear:
      return {.a = Operand::X, .b = Operand::Weight, .b_turned = out_in};
    case Op::LinearGradInput:
      return {.a = Operand::Dy, .b = Operand::Weight, .b_turned = !out_in};
    case Op::LinearGradWeight:
      return {
          .a = out_in ? Operand::Dy : Operand::X, .b = out_in ? Operand::X : Operand::Dy, .a_turned = true};
    default:
      throw std::logic_error(to_string(step.op) + " is no product");
  }
}

// The rows of a transposed matrix, an embedding's, are the words: they are the product's columns.
std::string weight_cut(const Program& program, const Step& step) {
  const TensorId id = input_of(program, step, Operand::Weight);
  if (!is_kind(program, id, MemoryKind::Weight)) return {};
  const Tensor& weight = program.tensor(id);
  if (weight.layout.kind != LayoutKind::Sharded) return "replicated";
  const bool in_rows = weight.layout.dim < weight.row_dims;
  if (step.attributes.transposed) return in_rows ? "vocabulary-parallel" : "row-parallel";
  return in_rows ? "row-parallel" : "column-parallel";
}

std::string note_of(const Program& program, const Step& step) {
  if (step.outputs.empty()) return {};
  const OperationNote& note = operation(step.op).note;
  return note.rule ? note.rule(program, step) : note.text;
}

}  // namespace shardlens
