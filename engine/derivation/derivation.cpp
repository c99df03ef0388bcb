// Chooses the derivation of a step by its operation, and says what follows it.
#include "engine/derivation/derivation.h"

#include <fmt/format.h>

#include "engine/base/units.h"
#include "engine/derivation/deriver.h"
#include "engine/program/product.h"

namespace shardlens {
namespace {

using namespace formulas;

void derive_lines(Deriver& d) {
  switch (d.step().op) {
    case Op::Linear:
    case Op::LinearGradInput:
    case Op::LinearGradWeight:
      return derive_product(d);
    case Op::BiasAdd:
    case Op::BiasGrad:
    case Op::Gelu:
    case Op::GeluGrad:
    case Op::Add:
    case Op::Tanh:
    case Op::TanhGrad:
    case Op::Dropout:
    case Op::Round:
      return derive_entrywise(d);
    case Op::LayerNorm:
    case Op::LayerNormGrad:
    case Op::LayerNormSums:
    case Op::LayerNormApply:
    case Op::LayerNormGradSums:
    case Op::LayerNormGradApply:
      return derive_norm(d);
    case Op::Attention:
    case Op::AttentionGrad:
    case Op::CachedAttention:
      return derive_attention(d);
    case Op::CacheAppend:
    case Op::Embedding:
    case Op::EmbeddingGrad:
    case Op::FirstToken:
    case Op::FirstTokenGrad:
      return derive_rows(d);
    case Op::VocabMax:
    case Op::TargetLogit:
    case Op::SumExp:
    case Op::CrossEntropy:
    case Op::CrossEntropyGrad:
      return derive_loss(d);
    case Op::SquareSum:
    case Op::ClipFactor:
    case Op::AdamW:
      return derive_update(d);
    case Op::Identity:
    case Op::Slice:
    case Op::AllReduce:
    case Op::ReduceScatter:
    case Op::AllGather:
    case Op::AllToAll:
    case Op::Join:
      return derive_conversion(d);
  }
}

std::string title_of(const Program& program, const Step& step) {
  const std::string cut = weight_cut(program, step);
  if (!cut.empty()) return step.equation + ", " + cut;
  if (step.conjugate != Conjugate::None)
    return step.equation + (step.conjugate == Conjugate::F ? ", that is f" : ", that is g");
  const std::string note = note_of(program, step);
  const bool says_more = !note.empty() && step.equation.find(note) == std::string::npos;
  return says_more ? step.equation + ", " + note : step.equation;
}

/// "Then all-reduce Z, that is g: Partial → Replicated. Each rank sends 4.50 MiB."
std::string conversion_words(const Program& program, const Step& step) {
  const Tensor &in = program.tensor(step.inputs[0]), &out = program.tensor(step.outputs[0]);
  const int64_t bytes = sent_bytes(program, step.id);
  if (step.op == Op::Identity && step.conjugate != Conjugate::None)
    return fmt::format("{}, the identity here: nothing is sent.", step.conjugate == Conjugate::F ? "f" : "g");
  std::string words = fmt::format("{} {}", to_string(step.op), converted_words(program, step));
  if (step.conjugate != Conjugate::None)
    words += fmt::format(", that is {}", step.conjugate == Conjugate::F ? "f" : "g");
  words += fmt::format(": {} → {}. ", to_string(in.layout), to_string(out.layout));
  return words + (bytes > 0 ? fmt::format("Each rank sends {}.", bytes_text(static_cast<double>(bytes)))
                            : "Nothing is sent.");
}

void say_what_follows(const Program& program, const Step& step, Derivation& derivation) {
  if (is_conversion(step.op)) {
    derivation.why = explain(program, step.id);
    return;
  }
  for (const TensorId out : step.outputs) {
    const StepId next = conversion_after(program, out);
    if (next < 0) continue;
    derivation.then = "Then " + conversion_words(program, program.step(next));
    derivation.why = explain(program, next);
    return;
  }
  derivation.why = explain_no_collective(program, step.outputs.front());
  if (!derivation.why.empty()) derivation.then = "Then no collective.";
}

}  // namespace

Derivation derive(const Program& program, StepId id) {
  const Step& step = program.step(id);
  Deriver deriver(program, step);
  derive_lines(deriver);
  Derivation derivation;
  derivation.step = id;
  derivation.title = title_of(program, step);
  derivation.lines = deriver.take();
  say_what_follows(program, step, derivation);
  return derivation;
}

std::string to_latex(const Derivation& derivation) {
  std::string text = "\\begin{align*}\n";
  for (size_t at = 0; at < derivation.lines.size(); ++at) {
    const DerivationLine& line = derivation.lines[at];
    text += "  " + (line.left.empty() ? std::string() : to_latex(line.left.front()));
    text += fmt::format(" &{} {}", to_latex(line.relation), to_latex(line.right));
    if (!line.remark.empty()) text += fmt::format(" && \\text{{{}}}", latex_words(line.remark));
    text += at + 1 < derivation.lines.size() ? " \\\\\n" : "\n";
  }
  return text + "\\end{align*}\n";
}

}  // namespace shardlens
