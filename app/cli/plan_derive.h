// `plan --derive`: the derivation of one step, as text, as JSON or as LaTeX.
#pragma once

#include <string>

#include "engine/program/program.h"

namespace shardlens::cli {

enum class DerivationForm { Text, Json, Latex };

/// `step`: its number or its name. Returns the exit code. Throws a request Error if there is no such step.
int print_derivation(const Program& program, const std::string& step, DerivationForm form);

}  // namespace shardlens::cli
