// Says where a result that is not a number began. A check of every tensor of every pass would slow a run
// down, so only results are looked at: a loss, a token's logits. If one is NaN or infinite, its pass is run
// once more with every tensor checked.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/runtime/executor.h"

namespace shardlens {

/// Runs the pass once more, with a check of every tensor beside `observers`. Returns what the check said: the
/// rank, the step and the tensor. Call while the executor is idle, with the weights that the pass had. The
/// executor may be of no use afterwards.
std::string where_not_finite(Executor& executor, const Program& program, const PassInputs& inputs,
                             std::vector<std::shared_ptr<StepObserver>> observers = {});

/// Throws a run Error if `value`, a result of the executor's last pass, is NaN or infinite: "`what` is NaN.
/// It began here: rank 1, step 17 …".
void require_finite(double value, const std::string& what, Executor& executor, const Program& program,
                    const PassInputs& inputs);

/// The value as messages show it: "NaN" whatever its sign.
std::string number_text(double value);

}  // namespace shardlens
