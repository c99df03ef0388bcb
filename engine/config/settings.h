// Everything that a user chooses, as plain data: the model, how each weight matrix is cut, and how the run is
// made. Settings are the only input of the planner; the studio's Setup panel and the command line both edit
// this struct.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/dtype.h"

namespace shardlens {

/// What a model predicts: the next token, or the masked words of a text and whether its second sentence
/// follows the first (BERT).
enum class Objective { NextToken, MaskedWords };
enum class NormPlacement {
  Pre,
  Post
};  ///< the norm before the block (GPT-2) or after the residual sum (BERT)
enum class Activation { GeluTanh, GeluErf };

/// A transformer's sizes and its form, field by field: what any of them is nobody asks for by a name. Shapes
/// are written [tokens, hidden] with tokens = batch * sequence.
struct Model {
  std::string name = "gpt2";
  std::string title = "GPT-2 small";
  std::string form = "gpt2";  ///< whose checkpoints it has (engine/config/forms.h)
  Objective objective = Objective::NextToken;
  int64_t layers = 12;
  int64_t hidden = 768;
  int64_t heads = 12;
  int64_t kv_heads = 0;  ///< key and value heads, each shared by heads / kv_heads query heads; 0: as heads
  int64_t ffn = 3072;    ///< width of the MLP, 4 * hidden in every preset
  int64_t vocab = 50257;
  int64_t positions = 1024;
  NormPlacement norm = NormPlacement::Pre;
  bool causal = true;
  Activation activation = Activation::GeluTanh;
  double norm_epsilon = 1e-5;
  int64_t pad_token =
      -1;            ///< BERT: the token whose lookup gives no gradient, as in its checkpoints; -1: none
  bool tied = true;  ///< the output embedding is the input embedding, one matrix and one gradient

  int64_t head_dim() const { return hidden / heads; }
  int64_t key_heads() const { return kv_heads > 0 ? kv_heads : heads; }
  bool is_grouped() const { return key_heads() != heads; }  ///< grouped-query attention
  bool operator==(const Model&) const = default;
};

/// How one weight matrix [in, out] is cut: by output columns, by input rows, or not at all.
enum class Cut { Column, Row, Replicated };

/// How the embedding [vocab, hidden] is cut: by rows of the vocabulary, by columns of hidden, or not at all.
enum class EmbeddingCut { Vocab, Hidden, Replicated };

/// How the residual stream [tokens, hidden] is laid out between the blocks, together with the norms, dropouts
/// and sums that work on it: whole on every rank; cut over hidden, where a norm sends two numbers per token
/// (Parallel); or cut over the tokens, where a norm sends nothing (Sequence: sequence parallelism).
enum class NormCut { Replicated, Parallel, Sequence };

/// The loss on logits that are cut over the vocabulary: Fused reduces three numbers per token, Gather
/// collects the logits first (paper, section 3).
enum class LossForm { Fused, Gather };

/// What happens if T does not divide the heads: the run is refused (Strict), some ranks hold one head more
/// than others (Uneven), or every rank holds the same number and the missing heads have weights of zero
/// (Padded).
enum class HeadsPolicy { Strict, Uneven, Padded };

/// One cut per matrix, and the layout of the stream between them: everything that a split file can say.
struct Split {
  std::string name = "megatron";
  Cut attn_qkv = Cut::Column;
  Cut attn_proj = Cut::Row;
  Cut mlp_fc = Cut::Column;
  Cut mlp_proj = Cut::Row;
  EmbeddingCut embedding = EmbeddingCut::Vocab;
  NormCut norm = NormCut::Replicated;
  LossForm loss = LossForm::Fused;
  bool operator==(const Split&) const = default;
};

/// The part that is planned and run: one transformer layer, a block of it, or the whole model from tokens to
/// loss.
enum class Block { Layer, Mlp, Attention, Model };

/// Which part of the forward pass is run again in the backward pass instead of being kept: nothing (the
/// default, because it is the fastest while it fits), the attention probabilities, or each layer from its
/// input.
enum class Recompute { None, Selective, Full };

/// Whether neighbouring passes over the same elements are one step (planner/fusion.h). Auto: for a whole
/// model, which must be fast, but not for a layer, whose steps a user wants to see. On: always. Off: never.
/// It changes no bit of the results.
enum class Fusion { Auto, On, Off };

/// Adam with decoupled weight decay, after the gradients' global norm has been clipped. The schedule gives
/// the learning rate of each step.
struct OptimizerSettings {
  double weight_decay = 0.01;  ///< on matrices and embeddings, not on biases and norms
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double clip = 1.0;  ///< largest global norm of the gradients; 0: not clipped
  bool operator==(const OptimizerSettings&) const = default;
};

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

/// A rank that is made late on purpose, in every pass, to show what waiting for it costs.
struct Delay {
  int rank = 0;      ///< world rank: among all T x D, replica by replica
  std::string step;  ///< it stops before this step: a name (the first step with it), or an id
  double milliseconds = 0;
  bool operator==(const Delay&) const = default;
};

/// What ranks compute on. Auto: GPUs if any can be used, the CPU otherwise.
enum class BackendChoice { Cpu, Cuda, Auto };

/// Which communicator connects the ranks. Auto: the one that suits the backend, see choose().
enum class CommunicatorChoice { Auto, Local, Lockstep, LocalCuda, Nccl, Mpi };

struct Settings {
  Model model;
  Split split;
  int tp = 1;  ///< tensor-parallel degree T
  int dp = 1;  ///< data-parallel degree D: replicas of the T ranks, each with its share of the batch
  HeadsPolicy heads_policy = HeadsPolicy::Strict;
  DType dtype = DType::Fp32;
  int64_t batch = 4;
  int64_t seq = 256;
  uint64_t seed = 1234;
  Block block = Block::Layer;
  int64_t layer = 0;  ///< which layer of the model: names, weights and initialisation follow it
  Operands operands = Operands::Normal;
  int micro_batches = 1;  ///< the batch runs in this many parts, and their gradients are summed
  Recompute recompute = Recompute::None;
  /// A row-parallel product is computed in this many parts over the tokens; each part is reduced while the
  /// next one is computed. 1: reduced as a whole.
  int overlap_chunks = 1;
  Fusion fusion = Fusion::Auto;
  double dropout = 0;   ///< probability, on attention probabilities and on the residual stream
  bool update = false;  ///< a whole model: the optimizer's steps follow the backward pass
  /// For a whole GPT: 0 is a training pass. Above 0, it is a generation pass over `seq` new tokens of each
  /// sequence, and the cache has room for the keys and values of this many tokens.
  int64_t cache_tokens = 0;
  OptimizerSettings optimizer;
  int vocab_ranks =
      0;  ///< the vocabulary is padded for this T; 0: its own T. A serial run takes the sharded run's T
  InputSource input;
  std::string weights_path;  ///< a GPT-2 safetensors file with Hugging Face's names; empty: seeded weights
  std::string hardware = "this-machine";
  int threads_per_rank = 0;  ///< 0: an equal share of the cores, at least one
  BackendChoice backend = BackendChoice::Cpu;
  std::vector<int> gpus;  ///< ranks are assigned to these GPUs in turn; empty: all GPUs
  CommunicatorChoice communicator = CommunicatorChoice::Auto;
  bool tf32 =
      false;  ///< on GPUs: fp32 products round their operands to 11 bits, and are several times faster
  std::vector<Delay> delays;
  double timeout_seconds = 300;  ///< how long ranks wait for a rank before it counts as lost; 0: for ever

  /// Sequences and tokens that one replica works on at a time: the batch divided by D and by micro_batches.
  int64_t micro_batch() const { return block == Block::Model ? batch / dp / micro_batches : batch; }
  int64_t tokens() const { return micro_batch() * seq; }
  bool is_fused() const { return fusion == Fusion::Auto ? block == Block::Model : fusion == Fusion::On; }
  bool operator==(const Settings&) const = default;
};

// Each enum's word in files, on the command line and on screen. parse_... throws a
// request Error that lists the words.
std::string to_string(Cut cut);                    ///< "column", "row", "replicated"
std::string to_string(EmbeddingCut cut);           ///< "vocab", "hidden", "replicated"
std::string to_string(NormCut cut);                ///< "replicated", "parallel", "sequence"
std::string to_string(LossForm form);              ///< "fused", "gather"
std::string to_string(HeadsPolicy policy);         ///< "strict", "uneven", "padded"
std::string to_string(Block block);                ///< "layer", "mlp", "attention", "model"
std::string to_string(Recompute recompute);        ///< "none", "selective", "full"
std::string to_string(Fusion fusion);              ///< "auto", "on", "off"
std::string to_string(Objective objective);        ///< "next-token", "masked-words"
std::string to_string(NormPlacement norm);         ///< "pre", "post"
std::string to_string(Activation form);            ///< "gelu-tanh", "gelu-erf"
std::string to_string(Operands operands);          ///< "normal", "integer"
std::string to_string(InputKind kind);             ///< "normal", "npy", "text"
std::string to_string(BackendChoice backend);      ///< "cpu", "cuda", "auto"
std::string to_string(CommunicatorChoice choice);  ///< "auto", "local", "lockstep", …
Cut parse_cut(const std::string& text);
EmbeddingCut parse_embedding_cut(const std::string& text);
NormCut parse_norm_cut(const std::string& text);
LossForm parse_loss_form(const std::string& text);
HeadsPolicy parse_heads_policy(const std::string& text);
Block parse_block(const std::string& text);
Recompute parse_recompute(const std::string& text);
Fusion parse_fusion(const std::string& text);
Objective parse_objective(const std::string& text);
NormPlacement parse_norm_placement(const std::string& text);
Activation parse_activation(const std::string& text);
Operands parse_operands(const std::string& text);
InputKind parse_input_kind(const std::string& text);
BackendChoice parse_backend(const std::string& text);
CommunicatorChoice parse_communicator(const std::string& text);

std::string gpus_text(const std::vector<int>& gpus);  ///< "0,2", "" for all
std::vector<int> parse_gpus(const std::string& text);

std::string to_string(const Delay& delay);  ///< "2:attn.proj:20", as on the command line
Delay parse_delay(const std::string& text);

}  // namespace shardlens
