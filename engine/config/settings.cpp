// The names of the choices in the settings. One table per enum serves both directions.
#include "engine/config/settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "engine/config/error.h"
#include "engine/config/suggest.h"

namespace shardlens {
namespace {

template <class Enum>
using Names = std::vector<std::pair<Enum, std::string>>;

const Names<Cut> kCuts = {{Cut::Column, "column"}, {Cut::Row, "row"}, {Cut::Replicated, "replicated"}};
const Names<EmbeddingCut> kEmbeddingCuts = {{EmbeddingCut::Vocab, "vocab"},
                                            {EmbeddingCut::Hidden, "hidden"},
                                            {EmbeddingCut::Replicated, "replicated"}};
const Names<NormCut> kNormCuts = {
    {NormCut::Replicated, "replicated"}, {NormCut::Parallel, "parallel"}, {NormCut::Sequence, "sequence"}};
const Names<LossForm> kLossForms = {{LossForm::Fused, "fused"}, {LossForm::Gather, "gather"}};
const Names<HeadsPolicy> kHeadsPolicies = {
    {HeadsPolicy::Strict, "strict"}, {HeadsPolicy::Uneven, "uneven"}, {HeadsPolicy::Padded, "padded"}};
const Names<Block> kBlocks = {
    {Block::Layer, "layer"}, {Block::Mlp, "mlp"}, {Block::Attention, "attention"}, {Block::Model, "model"}};
const Names<Recompute> kRecomputes = {
    {Recompute::None, "none"}, {Recompute::Selective, "selective"}, {Recompute::Full, "full"}};
const Names<Fusion> kFusions = {{Fusion::Auto, "auto"}, {Fusion::On, "on"}, {Fusion::Off, "off"}};
const Names<Architecture> kArchitectures = {{Architecture::Gpt, "gpt"}, {Architecture::Bert, "bert"}};
const Names<NormPlacement> kNorms = {{NormPlacement::Pre, "pre"}, {NormPlacement::Post, "post"}};
const Names<GeluForm> kGelus = {{GeluForm::Tanh, "tanh"}, {GeluForm::Erf, "erf"}};
const Names<Operands> kOperands = {{Operands::Normal, "normal"}, {Operands::Integer, "integer"}};
const Names<InputKind> kInputs = {
    {InputKind::Normal, "normal"}, {InputKind::Npy, "npy"}, {InputKind::Text, "text"}};

const Names<BackendChoice> kBackends = {
    {BackendChoice::Cpu, "cpu"}, {BackendChoice::Cuda, "cuda"}, {BackendChoice::Auto, "auto"}};
const Names<CommunicatorChoice> kCommunicators = {{CommunicatorChoice::Auto, "auto"},
                                                  {CommunicatorChoice::Local, "local"},
                                                  {CommunicatorChoice::LocalCuda, "local_cuda"},
                                                  {CommunicatorChoice::Nccl, "nccl"},
                                                  {CommunicatorChoice::Mpi, "mpi"}};

template <class Enum>
std::string name_of(const Names<Enum>& names, Enum value) {
  for (const auto& [candidate, name] : names) {
    if (candidate == value) return name;
  }
  return "?";
}

template <class Enum>
Enum parse(const Names<Enum>& names, const std::string& what, const std::string& text) {
  std::vector<std::string> known;
  for (const auto& [value, name] : names) {
    if (name == text) return value;
    known.push_back(name);
  }
  throw unknown_name(what, text, known);
}

}  // namespace

std::string to_string(Cut cut) {
  return name_of(kCuts, cut);
}
std::string to_string(EmbeddingCut cut) {
  return name_of(kEmbeddingCuts, cut);
}
std::string to_string(NormCut cut) {
  return name_of(kNormCuts, cut);
}
std::string to_string(LossForm form) {
  return name_of(kLossForms, form);
}
std::string to_string(HeadsPolicy policy) {
  return name_of(kHeadsPolicies, policy);
}
std::string to_string(Recompute recompute) {
  return name_of(kRecomputes, recompute);
}
std::string to_string(Fusion fusion) {
  return name_of(kFusions, fusion);
}
std::string to_string(Block block) {
  return name_of(kBlocks, block);
}
std::string to_string(Architecture architecture) {
  return name_of(kArchitectures, architecture);
}
std::string to_string(NormPlacement norm) {
  return name_of(kNorms, norm);
}
std::string to_string(GeluForm form) {
  return name_of(kGelus, form);
}
std::string to_string(Operands operands) {
  return name_of(kOperands, operands);
}
std::string to_string(InputKind kind) {
  return name_of(kInputs, kind);
}
std::string to_string(BackendChoice backend) {
  return name_of(kBackends, backend);
}
std::string to_string(CommunicatorChoice choice) {
  return name_of(kCommunicators, choice);
}

Cut parse_cut(const std::string& text) {
  return parse(kCuts, "cut", text);
}
EmbeddingCut parse_embedding_cut(const std::string& text) {
  return parse(kEmbeddingCuts, "embedding cut", text);
}
NormCut parse_norm_cut(const std::string& text) {
  return parse(kNormCuts, "norm cut", text);
}
LossForm parse_loss_form(const std::string& text) {
  return parse(kLossForms, "loss", text);
}
HeadsPolicy parse_heads_policy(const std::string& text) {
  return parse(kHeadsPolicies, "heads policy", text);
}
Recompute parse_recompute(const std::string& text) {
  return parse(kRecomputes, "recompute", text);
}
Fusion parse_fusion(const std::string& text) {
  return parse(kFusions, "fusion", text);
}
Block parse_block(const std::string& text) {
  return parse(kBlocks, "block", text);
}
Architecture parse_architecture(const std::string& text) {
  return parse(kArchitectures, "architecture", text);
}
NormPlacement parse_norm_placement(const std::string& text) {
  return parse(kNorms, "norm placement", text);
}
GeluForm parse_gelu_form(const std::string& text) {
  return parse(kGelus, "GeLU form", text);
}
Operands parse_operands(const std::string& text) {
  return parse(kOperands, "operands", text);
}
InputKind parse_input_kind(const std::string& text) {
  return parse(kInputs, "input", text);
}
BackendChoice parse_backend(const std::string& text) {
  return parse(kBackends, "backend", text);
}
CommunicatorChoice parse_communicator(const std::string& text) {
  return parse(kCommunicators, "communicator", text);
}

std::string gpus_text(const std::vector<int>& gpus) {
  return fmt::format("{}", fmt::join(gpus, ","));
}

std::vector<int> parse_gpus(const std::string& text) {
  std::vector<int> gpus;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    int gpu = 0;
    const auto [at, problem] = std::from_chars(text.data() + begin, text.data() + end, gpu);
    if (problem != std::errc() || at != text.data() + end || gpu < 0 || end + 1 == text.size()) {
      throw request_error(
          fmt::format("\"{}\" is not a list of GPUs; give their numbers with commas, such as 0,2", text));
    }
    gpus.push_back(gpu);
    begin = end + 1;
  }
  return gpus;
}

std::string to_string(const Delay& delay) {
  return fmt::format("{}:{}:{}", delay.rank, delay.step, delay.milliseconds);
}

Delay parse_delay(const std::string& text) {
  // A step's name may contain colons, so the numbers are taken from the two ends.
  const size_t first = text.find(':'), last = text.rfind(':');
  const auto number = [&](size_t begin, size_t end, auto& value) {
    const char* const stop = text.data() + end;
    const auto [at, problem] = std::from_chars(text.data() + begin, stop, value);
    return begin < end && at == stop && problem == std::errc();
  };
  Delay delay;
  const bool is_whole = first != std::string::npos && last > first + 1 && number(0, first, delay.rank) &&
                        number(last + 1, text.size(), delay.milliseconds);
  if (!is_whole)
    throw request_error(fmt::format(
        "delay \"{}\" is not RANK:STEP:MS, such as 2:attn.proj:20: rank 2 is 20 ms late before attn.proj",
        text));
  delay.step = text.substr(first + 1, last - first - 1);
  return delay;
}

}  // namespace shardlens
