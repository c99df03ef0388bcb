// The table of what expressions can name: functions and names. The parser, its messages ("no function
// `colectives`; did you mean `collectives`?") and the page for authors read it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/lesson/expression.h"
#include "engine/program/program.h"

namespace shardlens {

/// The arguments of a call. Each is evaluated when it is asked for.
class Arguments {
 public:
  Arguments(const Expression& call, const Surroundings& where) : call_(call), where_(where) {}

  const Surroundings& where() const { return where_; }
  Evidence& evidence() const { return *where_.evidence; }
  const Program& program() const;
  size_t count() const { return call_.parts.size(); }
  Value value(size_t at) const;
  /// The same, evaluated for other settings.
  Value value(size_t at, const Surroundings& elsewhere) const {
    return evaluate(*call_.parts[at], elsewhere);
  }
  double number(size_t at) const;
  int64_t whole(size_t at, int64_t least, int64_t most) const;
  std::string text(size_t at) const;
  /// The step that the argument names, by its name or by a tensor that it writes.
  StepId step(size_t at) const;
  TensorId tensor(size_t at) const;

 private:
  const Expression& call_;
  const Surroundings& where_;
};

/// What a function needs before it can answer.
enum class Needs { Nothing, Plan, Run, Training };

struct Function {
  const char* name;
  const char* arguments;  ///< "step", "tensor, row, column[, rank]"
  int least, most;        ///< arguments
  Needs needs;
  const char* sentence;  ///< what it yields
  Value (*call)(const Arguments&);
};

struct KnownName {
  const char* name;
  const char* sentence;
  bool reads;  ///< it comes from the settings, so an answer may consist of it
  Value (*value)(const Surroundings&);
};

std::span<const Function> functions();
std::span<const KnownName> known_names();

/// Null if there is none.
const Function* find_function(const std::string& name);
const KnownName* find_known_name(const std::string& name);

/// The step or tensor of this name. A tensor's name is its own, that of its value, its symbol, or
/// "STEP.weight", "STEP.bias". Throws a request Error with the nearest name.
StepId step_named(const Program& program, const std::string& name);
TensorId tensor_named(const Program& program, const std::string& name);
/// The step with exactly this name; -1 if there is none.
StepId find_step(const Program& program, const std::string& name);
/// What a picture calls it, with its name: "G = GeLU(H) (mlp.gelu)", "all-reduce(Z) (mlp.proj.sum)",
/// "dN (grad.ln2.out)", "Z (mlp.proj.sum, Partial)"; the name alone if it is neither a step's nor a tensor's.
std::string with_equation(const Program& program, const std::string& name);
/// kNoTensor if there is none.
TensorId find_tensor(const Program& program, const std::string& name);

/// Markdown tables of both, for the page of authors.
std::string functions_as_markdown();

}  // namespace shardlens
