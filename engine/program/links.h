// Which steps write and read each tensor of a Program, found in one pass over it. One question alone is
// answered by producer_of() and consumers_of() of program.h, which search the Program; whoever asks about
// many tensors makes Links first.
#pragma once

#include <span>
#include <vector>

#include "engine/program/program.h"

namespace shardlens {

class Links {
 public:
  /// Refers to `program`, which must neither change nor end before it.
  explicit Links(const Program& program);

  const Program& program() const { return program_; }
  StepId producer_of(TensorId tensor) const;                    ///< as producer_of() of program.h
  std::span<const StepId> consumers_of(TensorId tensor) const;  ///< as consumers_of() of program.h

 private:
  const Program& program_;
  std::vector<StepId> producer_;  ///< [tensor]; -1: no step writes it
  std::vector<size_t> begin_;     ///< [tensor]: where its readers begin in `readers_`
  std::vector<StepId> readers_;
};

/// explain() of program.h, for many steps of one Program.
std::string explain(const Links& links, StepId step);

}  // namespace shardlens
