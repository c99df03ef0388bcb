// What a person is shown instead of a tensor's name: the letter of the equations first, so that it is found
// in the pictures, and no "@partial".
#pragma once

#include <string>

#include "engine/program/program.h"

namespace shardlens {

/// "dN (grad.ln2.out)", "Z (mlp.proj.sum, Partial)"; the name alone if the tensor has no other letter.
std::string shown_name(const Tensor& tensor);
/// True if both have one letter: an equation with both shows an assignment, "x := x + a".
bool reads_alike(const Tensor& tensor, const Tensor& other);

}  // namespace shardlens
