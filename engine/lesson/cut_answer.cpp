// Tries cuts.
#include "engine/lesson/cut_answer.h"

#include <fmt/format.h>

#include "engine/base/shown.h"
#include "engine/base/suggest.h"
#include "engine/config/splits.h"
#include "engine/lesson/at_line.h"

namespace shardlens {

std::vector<Split> splits_to_try() {
  std::vector<Split> splits = named_splits();
  constexpr Cut kCuts[] = {Cut::Column, Cut::Row, Cut::Replicated};
  for (const Cut qkv : kCuts)
    for (const Cut attn_proj : kCuts)
      for (const Cut fc : kCuts)
        for (const Cut mlp_proj : kCuts) {
          Split split;
          split.name = "own";
          split.attn_qkv = qkv, split.attn_proj = attn_proj, split.mlp_fc = fc, split.mlp_proj = mlp_proj;
          splits.push_back(split);
        }
  return splits;
}

std::string cut_text(const Split& split, Block block) {
  std::vector<std::string> cuts;
  for (const MatrixCut& matrix : matrix_cuts())
    if (matrix.is_in(block)) cuts.push_back(fmt::format("{} {}", matrix.name, to_string(split.*matrix.cut)));
  return join(cuts);
}

bool is_yes(const Value& value, const Question& question, const Lesson& lesson) {
  if (const bool* yes = std::get_if<bool>(&value)) return *yes;
  throw lesson_error(lesson.source, question.line,
                     fmt::format("the answer of this question must be a yes or no, and \"{}\" is {}",
                                 shown(to_text(value)), kind_of(value)));
}

CutTried try_cut(const Lesson& lesson, const Question& question, Settings settings, const Split& split,
                 const std::optional<Fault>& mistake, const Surroundings& where) {
  settings.split = split;
  const std::shared_ptr<Evidence> evidence = where.store.of(settings, mistake);
  try {
    evidence->program();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Cancelled) throw;
    return {false, error.what()};
  }
  const Surroundings here{where.store, evidence, where.drawn};
  for (const LessonCondition& condition : question.conditions) {
    const Value value = at_line(lesson, question.line, [&] { return evaluate(*condition.right, here); });
    if (is_yes(value, question, lesson)) continue;
    if (condition.wrong.empty())
      return {false, fmt::format("`{}` does not hold", shown(written(*condition.right), 120))};
    return {false, at_line(lesson, condition.wrong.line, [&] { return filled(condition.wrong, here); })};
  }
  if (!mistake && !evidence->run().parity_summary.agrees)
    return {false, "its run differs from the run on one rank"};
  return {true, ""};
}

}  // namespace shardlens
