// Everything a person chooses, as plain data: the model, how each weight matrix is cut, and how the run is
// made. Settings are the only input of the planner; the studio's Setup panel and the command line both edit
// this struct.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/config/dtype.h"

namespace shardlens {

enum class Architecture { Gpt, Bert };
enum class NormPlacement {
  Pre,
  Post
};  ///< LayerNorm before the block (GPT-2) or after the residual sum (BERT)
enum class GeluForm { Tanh, Erf };

/// A transformer's sizes. Shapes are written [tokens, hidden] with tokens = batch * sequence.
struct Model {
  std::string name = "gpt2";
  std::string title = "GPT-2 small";
  Architecture architecture = Architecture::Gpt;
  int64_t layers = 12;
  int64_t hidden = 768;
  int64_t heads = 12;
  int64_t ffn = 3072;  ///< width of the MLP, 4 * hidden in every preset
  int64_t vocab = 50257;
  int64_t positions = 1024;
  NormPlacement norm = NormPlacement::Pre;
  bool causal = true;
  GeluForm gelu = GeluForm::Tanh;
  double norm_epsilon = 1e-5;

  int64_t head_dim() const { return hidden / heads; }
  bool operator==(const Model&) const = default;
};

/// How one weight matrix [in, out] is cut: by output columns, by input rows, or not at all.
enum class Cut { Column, Row, Replicated };

/// One cut per matrix: the whole grammar of a split file (DESIGN section 8).
struct Split {
  std::string name = "megatron";
  Cut attn_qkv = Cut::Column;
  Cut attn_proj = Cut::Row;
  Cut mlp_fc = Cut::Column;
  Cut mlp_proj = Cut::Row;
  bool operator==(const Split&) const = default;
};

enum class Block { Layer, Mlp, Attention };  ///< which part of one transformer layer is planned and run
enum class Operands {
  Normal,
  Integer
};  ///< Integer: every matrix product sees small integers, sums are exact
enum class InputKind { Normal, Npy, Text };  ///< where the layer's input X comes from

/// Where X comes from: seeded N(0, 1), an `.npy` of shape [batch*seq, hidden] or [batch, seq, hidden], or a
/// text file whose bytes look rows up in a seeded [256, hidden] table.
struct InputSource {
  InputKind kind = InputKind::Normal;
  std::string path;
  bool operator==(const InputSource&) const = default;
};

struct Settings {
  Model model;
  Split split;
  int tp = 1;  ///< tensor-parallel degree T
  int dp = 1;  ///< data-parallel degree D (planned; one layer runs with D = 1)
  DType dtype = DType::Fp32;
  int64_t batch = 4;
  int64_t seq = 256;
  uint64_t seed = 1234;
  Block block = Block::Layer;
  int64_t layer = 0;  ///< which layer of the model: names, weights and initialisation follow it
  Operands operands = Operands::Normal;
  InputSource input;
  std::string weights_path;  ///< a GPT-2 safetensors file in Hugging Face's names; empty: seeded weights
  std::string hardware = "this-machine";
  int threads_per_rank = 0;  ///< 0: an equal share of the cores, at least one

  int64_t tokens() const { return batch * seq; }
  bool operator==(const Settings&) const = default;
};

// Each enum's word in files, on the command line and on screen. parse_... throws a
// request Error that lists the words.
std::string to_string(Cut cut);                    ///< "column", "row", "replicated"
std::string to_string(Block block);                ///< "layer", "mlp", "attention"
std::string to_string(Architecture architecture);  ///< "gpt", "bert"
std::string to_string(NormPlacement norm);         ///< "pre", "post"
std::string to_string(GeluForm form);              ///< "tanh", "erf"
std::string to_string(Operands operands);          ///< "normal", "integer"
std::string to_string(InputKind kind);             ///< "normal", "npy", "text"
Cut parse_cut(const std::string& text);
Block parse_block(const std::string& text);
Architecture parse_architecture(const std::string& text);
NormPlacement parse_norm_placement(const std::string& text);
GeluForm parse_gelu_form(const std::string& text);
Operands parse_operands(const std::string& text);
InputKind parse_input_kind(const std::string& text);

}  // namespace shardlens
