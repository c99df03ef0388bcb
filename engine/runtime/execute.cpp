// Runs steps as device calls. All extents come from the tensors' local shapes, so uneven and empty slices
// need no special case.
#include "engine/runtime/execute.h"

#include <utility>
#include <vector>

#include "engine/device/work_behind.h"
#include "engine/program/joined_steps.h"
#include "engine/runtime/dropped.h"

namespace shardlens {
namespace {

// A tensor as a matrix operand: its bytes, its stored extents, and whether it is used transposed.
struct Matrix {
  const void* data = nullptr;
  MatrixShape stored;
  bool transposed = false;
  int64_t panel_cols = 0;

  int64_t rows() const { return transposed ? stored.cols : stored.rows; }
  int64_t cols() const { return transposed ? stored.rows : stored.cols; }
};

// A step on one rank: its tensors' local shapes and addresses, by the operand's name or, for a list of equal
// operands, by position.
class Local {
 public:
  Local(const Step& step, RankContext& context) : step_(step), context_(context) {}

  const Tensor& input(size_t i) const { return context_.program.tensor(step_.inputs[i]); }
  const Tensor& output(size_t i) const { return context_.program.tensor(step_.outputs[i]); }
  void* in(size_t i) const { return context_.arenas.at(step_.inputs[i]); }
  void* out(size_t i) const { return context_.arenas.at(step_.outputs[i]); }

  bool reads(Operand operand) const { return input_place(context_.program, step_, operand).has_value(); }
  bool writes(Operand operand) const { return output_place(context_.program, step_, operand).has_value(); }
  /// The step must have the operand.
  const Tensor& input(Operand operand) const {
    return context_.program.tensor(input_of(context_.program, step_, operand));
  }
  const Tensor& output(Operand operand) const {
    return context_.program.tensor(output_of(context_.program, step_, operand));
  }
  /// Null if the step has no such operand.
  void* in(Operand operand) const { return at(input_of(context_.program, step_, operand)); }
  void* out(Operand operand) const { return at(output_of(context_.program, step_, operand)); }
  Shape shape(const Tensor& tensor) const {
    return local_shape(tensor, context_.program.tp(), context_.rank);
  }
  MatrixShape matrix(const Tensor& tensor) const {
    return local_matrix_shape(tensor, context_.program.tp(), context_.rank);
  }
  Matrix matrix(Operand operand, bool transposed = false) const {
    const TensorId id = input_of(context_.program, step_, operand);
    return {at(id), matrix(context_.program.tensor(id)), transposed, context_.arenas.panel_cols(id)};
  }
  int64_t count(const Tensor& tensor) const { return element_count(shape(tensor)); }
  DType dtype() const { return output(0).dtype; }
  const int32_t* ids(Operand operand) const { return static_cast<const int32_t*>(in(operand)); }
  /// The rows (or columns, or heads) of `tensor` along `dim` that this rank holds.
  Range range(const Tensor& tensor, int dim) const {
    const int64_t extent = tensor.shape[static_cast<size_t>(dim)];
    const bool cut = tensor.layout.dim == dim;
    return cut ? slice_of(tensor.layout, extent, context_.program.tp(), context_.rank) : Range{0, extent};
  }
  DropoutMask mask(const Attributes& attributes) const {
    return mask_of(context_.program, attributes, context_.rank, context_.numbers.draw);
  }
  /// Returns where this rank's slice of `tensor` begins along `dim`, for its mask.
  int64_t mask_begin(const Attributes& attributes, const Tensor& tensor, int dim) const {
    return attributes.mask_draw == MaskDraw::OneStream ? 0 : range(tensor, dim).begin;
  }
  /// Returns the part of the whole batch that the step works on; replicas and micro-batches are equal parts.
  /// Masks are drawn by the rows of the whole batch.
  int64_t part_of_batch(const Attributes& attributes) const {
    return int64_t{context_.replica} * context_.program.settings.micro_batches + attributes.part;
  }
  VocabShard vocab_shard(const Attributes& attributes) const {
    const Tensor& logits = input(Operand::Logits);
    return {logits.dtype, range(logits, 0).size(), range(logits, 1), attributes.vocab};
  }

 private:
  void* at(TensorId id) const { return id == kNoTensor ? nullptr : context_.arenas.at(id); }

  const Step& step_;
  RankContext& context_;
};

// Completes `gemm` to C = A·B (+ bias), or C += A·B, of the step's factors, from which the extents follow.
Gemm product(const Local& local, const Step& step, Gemm gemm) {
  const Factors factors = factors_of(step);
  const Matrix a = local.matrix(factors.a, factors.a_turned), b = local.matrix(factors.b, factors.b_turned);
  gemm.dtype = local.input(0).dtype;
  gemm.wide_result = local.dtype() != gemm.dtype;
  gemm.transpose_a = a.transposed;
  gemm.transpose_b = b.transposed;
  gemm.m = a.rows();
  gemm.n = b.cols();
  gemm.k = b.rows();
  gemm.a = a.data;
  gemm.lda = a.stored.cols;
  gemm.b = b.data;
  gemm.ldb = b.stored.cols;
  gemm.b_panel_cols = b.panel_cols;
  gemm.c = local.out(0);
  gemm.ldc = gemm.n;
  return gemm;
}

// Y = X·W (+ b), or X·Wᵀ if W is stored [out, in]; or Y = GeLU(H) and H, where H is this product
Gemm linear(const Local& local, const Step& step) {
  Gemm gemm;
  gemm.bias = local.in(Operand::Bias);
  if (local.writes(Operand::GeluInput)) {
    gemm.after = AfterProduct::Gelu;
    gemm.form = step.attributes.activation;
    gemm.before = local.out(Operand::GeluInput);
  }
  return product(local, step, gemm);
}

// y = x + b, or y = addend + (x + b)
BiasAdd bias_add(const Local& local) {
  return {.dtype = local.dtype(),
          .rows = local.shape(local.input(Operand::X))[0],
          .cols = local.count(local.input(Operand::Bias)),
          .x = local.in(Operand::X),
          .bias = local.in(Operand::Bias),
          .y = local.out(Operand::Y),
          .addend = local.in(Operand::Addend)};
}

LayerNorm layer_norm(const Local& local, const Step& step) {
  const MatrixShape x = local.matrix(local.input(Operand::X));
  return {.dtype = local.dtype(),
          .rows = x.rows,
          .cols = x.cols,
          .epsilon = step.attributes.epsilon,
          .x = local.in(Operand::X),
          .gamma = local.in(Operand::Gamma),
          .beta = local.in(Operand::Beta),
          .y = local.out(Operand::Y),
          .stats = local.out(Operand::Stats),
          .a = local.in(Operand::Addend),
          .bias = local.in(Operand::Bias),
          .sum = local.out(Operand::Sum)};
}

// Returns the bias gradient if the step writes one together with dX or dW.
BiasSums bias_sums(const Local& local, const Step& step) {
  if (!local.writes(Operand::BiasGrad)) return {};
  return {local.count(local.output(Operand::BiasGrad)), local.out(Operand::BiasGrad),
          step.attributes.accumulate};
}

// dX = dY·Wᵀ, or dY·W; or this product ∘ GeLU'(H); and the sums of dX over the tokens
Gemm linear_grad_input(const Local& local, const Step& step) {
  Gemm gemm;
  if (local.reads(Operand::GeluInput)) {
    gemm.after = AfterProduct::GeluGrad;
    gemm.form = step.attributes.activation;
    gemm.before = local.in(Operand::GeluInput);
  }
  gemm.sums = bias_sums(local, step);
  return product(local, step, gemm);
}

// dW = Xᵀ·dY, or dYᵀ·X; added to dW if an earlier step wrote it; and the sums of dY over the tokens
Gemm linear_grad_weight(const Local& local, const Step& step) {
  Gemm gemm;
  gemm.accumulate = step.attributes.accumulate;
  gemm.sums = bias_sums(local, step);
  return product(local, step, gemm);
}

// Returns the rank's key heads. `keys` is a tensor with the key heads in dimension `dim`.
KeyHeads key_heads(const Local& local, const QueryHeads& queries, const Tensor& keys, int dim) {
  const auto at = static_cast<size_t>(dim);
  const int64_t group = queries.all / keys.shape[at];
  return {local.shape(keys)[at], group, queries.first - local.range(keys, dim).begin * group};
}

// Returns the arguments of attention without Q and the tensors that are computed from it.
Attention attention_shape(const Local& local, const Step& step, const RankContext& context) {
  const bool grouped = local.reads(Operand::Kv);
  const Tensor& q = local.input(Operand::Q);
  const QueryHeads heads = query_heads(context.program, q, grouped, context.rank);
  Attention shape;
  shape.dtype = local.dtype();
  shape.batch = step.attributes.batch;
  shape.seq = q.shape[0] / step.attributes.batch;
  shape.heads = heads.own;
  shape.head_dim = q.shape[3];
  shape.causal = step.attributes.causal;
  shape.recompute = context.program.settings.recompute == Recompute::Selective;
  shape.mask = local.ids(Operand::Mask);
  if (step.attributes.dropout > 0) {
    shape.dropout = local.mask(step.attributes);
    shape.all_heads = heads.all;
    shape.first_head = first_masked_head(step.attributes, heads);
    shape.first_token = local.part_of_batch(step.attributes) * q.shape[0];
  }
  if (grouped) {
    shape.kv = local.in(Operand::Kv);
    shape.keys = key_heads(local, heads, local.input(Operand::Kv), 2);
  }
  return shape;
}

CacheShape cache_shape(const Local& local, const Step& step, const RankContext& context) {
  const bool appends = step.op == Op::CacheAppend;
  const Tensor& fresh = local.input(appends ? Operand::NewKv : Operand::Q);
  const Tensor& keys = local.input(Operand::Keys);  // [batch * room, heads, head_dim]
  const int64_t batch = step.attributes.batch;
  CacheShape shape;
  shape.dtype = local.dtype();
  shape.batch = batch;
  shape.seq = fresh.shape[0] / batch;
  shape.room = keys.shape[0] / batch;
  shape.head_dim = fresh.shape[3];
  shape.positions = local.ids(Operand::Positions);
  shape.grouped = context.program.settings.model.is_grouped();
  shape.keys.heads = local.shape(keys)[1];
  if (appends) {
    shape.heads = shape.keys.heads;
    return shape;
  }
  const QueryHeads heads = query_heads(context.program, fresh, shape.grouped, context.rank);
  shape.heads = heads.own;
  shape.keys = key_heads(local, heads, keys, 1);
  return shape;
}

CacheAppend cache_append(const Local& local, const Step& step, const RankContext& context) {
  return {.shape = cache_shape(local, step, context),
          .qkv = local.in(Operand::NewKv),
          .keys = local.out(Operand::Keys),
          .values = local.out(Operand::Values)};
}

CachedAttention cached_attention(const Local& local, const Step& step, const RankContext& context) {
  return {.shape = cache_shape(local, step, context),
          .qkv = local.in(Operand::Q),
          .keys = local.in(Operand::Keys),
          .values = local.in(Operand::Values),
          .probs = local.out(Operand::Saved),
          .context = local.out(Operand::Context),
          .workspace = local.out(Operand::Workspace)};
}

// Returns the shape of a LayerNorm whose rows are cut over the ranks.
CutNorm cut_norm(const Local& local, const Step& step) {
  const Tensor& x = local.input(Operand::X);
  const MatrixShape own = local.matrix(x);
  const int64_t hidden = step.attributes.own_columns ? own.cols : x.shape.back();
  return {x.dtype, own.rows, own.cols, hidden};
}

// Returns the place of the rank's part of the step's [tokens, hidden] tensor among the whole batch's
// elements.
RowRuns row_runs(const Local& local, const Attributes& attributes) {
  const Tensor& tensor = local.output(0);
  const int64_t hidden = tensor.shape[1];
  const Range rows = local.range(tensor, 0), columns = local.range(tensor, 1);
  const int64_t first_row =
      local.part_of_batch(attributes) * tensor.shape[0] + local.mask_begin(attributes, tensor, 0);
  // Whole rows are contiguous.
  if (columns.size() == hidden) return {first_row * hidden, 1, rows.size() * hidden, 0};
  return {first_row * hidden + local.mask_begin(attributes, tensor, 1), rows.size(), columns.size(), hidden};
}

// Computes the sum of squares over all inputs of the step.
void square_sum(Device& device, const Local& local, const Step& step, const RankContext& context) {
  std::vector<ListedTensor> gradients;
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    // A slice that several ranks hold counts on the first of them.
    const bool counts = context.rank % local.input(i).layout.copies == 0;
    gradients.push_back({counts ? local.count(local.input(i)) : 0, local.in(i)});
  }
  device.square_sum(local.input(0).dtype, gradients, static_cast<double*>(local.out(0)));
}

// Computes c[2] from the sums of squares and the loss scale. The scale is the last term, if the run has one.
void clip_factor(Device& device, const Local& local, const Step& step, double clip) {
  std::vector<const double*> sums;
  const void* scale = nullptr;
  DType scale_dtype = DType::Fp32;
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    if (local.input(i).kind == MemoryKind::Input) {
      scale = local.in(i);
      scale_dtype = local.input(i).dtype;
    } else {
      sums.push_back(static_cast<const double*>(local.in(i)));
    }
  }
  device.clip_factor({.sums = sums,
                      .clip = clip,
                      .scale_dtype = scale_dtype,
                      .scale = scale,
                      .factor = static_cast<double*>(local.out(Operand::Factor))});
}

AdamWStep adamw_step(const Local& local, const Step& step, const RankContext& context) {
  const OptimizerSettings& optimizer = context.program.settings.optimizer;
  AdamWStep update;
  const Tensor& parameter = local.input(Operand::Parameter);
  update.dtype = parameter.dtype;
  update.count = local.count(parameter);
  update.parameter = local.in(Operand::Parameter);
  update.gradient = local.in(Operand::Gradient);
  update.first_moment = local.in(Operand::FirstMoment);
  update.second_moment = local.in(Operand::SecondMoment);
  update.factor = static_cast<const double*>(local.in(Operand::Factor));
  update.master = local.in(Operand::Master);
  update.learning_rate = context.numbers.learning_rate;
  update.weight_decay = step.attributes.decay ? optimizer.weight_decay : 0;
  update.beta1 = optimizer.beta1;
  update.beta2 = optimizer.beta2;
  update.epsilon = optimizer.epsilon;
  update.iteration = context.numbers.iteration;
  return update;
}

// Reduces each tensor of a bucket, to its sum or its maximum, among the ranks of the step's group. Returns
// the time when the rank arrived at the first reduction and the time when the last was done.
CollectiveTimes all_reduce(const Step& step, const Local& local, RankContext& context) {
  Communicator& communicator = step.axis == Axis::Dp                    ? context.replicas
                               : is_among_copies(context.program, step) ? context.same_slice
                                                                        : context.layer;
  CollectiveTimes times;
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    const Tensor& tensor = local.output(i);
    const int64_t count = local.count(tensor);
    if (local.in(i) != local.out(i)) {  // not in place: the term stays unchanged
      context.device.slice(tensor.dtype, {1, count, 1}, {0, count}, local.in(i), local.out(i));
      if (WorkBehind* const behind = context.device.behind()) behind->begin_collective();
    }
    const CollectiveTimes one =
        communicator.all_reduce(tensor.dtype, count, local.out(i), local.input(i).layout.reduction);
    if (i == 0) {
      times = one;
    } else {
      times.done_seconds = one.done_seconds;
      times.sent_bytes += one.sent_bytes;
    }
  }
  return times;
}

// A product with the LayerNorm before it, the sum after it, or both; or attention with the append before it.
void execute_joined(std::span<const Step> steps, RankContext& context) {
  if (steps.front().op == Op::CacheAppend) {
    const Local append(steps[0], context), attention(steps[1], context);
    return context.device.token_attention(
        {cache_append(append, steps[0], context), cached_attention(attention, steps[1], context)});
  }
  TokenProduct whole;
  for (const Step& step : steps) {
    const Local local(step, context);
    if (step.op == Op::LayerNorm)
      whole.norm = layer_norm(local, step);
    else if (step.op == Op::Linear)
      whole.product = linear(local, step);
    else
      whole.sum = bias_add(local);
  }
  context.device.token_product(whole);
}

}  // namespace

CollectiveTimes execute(const Step& step, RankContext& context) {
  const Local local(step, context);
  Device& device = context.device;
  Communicator& communicator = context.layer;
  const DType dtype = local.dtype();
  const Attributes& attributes = step.attributes;
  switch (step.op) {
    case Op::Linear:
      device.gemm(linear(local, step));
      break;
    case Op::LinearGradInput:
      device.gemm(linear_grad_input(local, step));
      break;
    case Op::LinearGradWeight:
      device.gemm(linear_grad_weight(local, step));
      break;
    case Op::BiasAdd: {
      if (attributes.one_rank && context.rank != 0) {  // the other ranks pass their terms on
        const Shape term = local.shape(local.input(Operand::X));
        device.slice(dtype, slicing(term, 0), {0, term[0]}, local.in(Operand::X), local.out(Operand::Y));
        break;
      }
      device.bias_add(bias_add(local));
      break;
    }
    case Op::BiasGrad: {
      const int64_t cols = local.count(local.output(Operand::BiasGrad));
      device.bias_grad(local.input(Operand::Dy).dtype, local.shape(local.input(Operand::Dy))[0], cols,
                       local.in(Operand::Dy), local.out(Operand::BiasGrad), attributes.accumulate);
      break;
    }
    case Op::Gelu:
      device.gelu(dtype, attributes.activation, local.count(local.output(Operand::Y)),
                  local.in(Operand::GeluInput), local.out(Operand::Y));
      break;
    case Op::GeluGrad: {
      device.gelu_grad({.dtype = dtype,
                        .form = attributes.activation,
                        .count = local.count(local.output(Operand::Dx)),
                        .x = local.in(Operand::GeluInput),
                        .dy = local.in(Operand::Dy),
                        .dx = local.out(Operand::Dx),
                        .sums = bias_sums(local, step)});
      break;
    }
    case Op::LayerNorm:
      device.layer_norm(layer_norm(local, step));
      break;
    case Op::LayerNormGrad: {
      const MatrixShape x = local.matrix(local.input(Operand::X));
      device.layer_norm_grad({.dtype = dtype,
                              .rows = x.rows,
                              .cols = x.cols,
                              .x = local.in(Operand::X),
                              .gamma = local.in(Operand::Gamma),
                              .stats = local.in(Operand::Stats),
                              .dy = local.in(Operand::Dy),
                              .dx = local.out(Operand::Dx),
                              .dgamma = local.out(Operand::GammaGrad),
                              .dbeta = local.out(Operand::BetaGrad),
                              .accumulate = attributes.accumulate,
                              .addend = local.in(Operand::Addend)});
      break;
    }
    case Op::LayerNormSums:
      device.layer_norm_sums(cut_norm(local, step), local.in(Operand::X), local.out(Operand::Sums));
      break;
    case Op::LayerNormApply:
      device.layer_norm_apply({.norm = cut_norm(local, step),
                               .epsilon = attributes.epsilon,
                               .ranks = local.shape(local.input(Operand::Sums))[1] / 2,
                               .x = local.in(Operand::X),
                               .gamma = local.in(Operand::Gamma),
                               .beta = local.in(Operand::Beta),
                               .sums = local.in(Operand::Sums),
                               .y = local.out(Operand::Y),
                               .stats = local.out(Operand::Stats)});
      break;
    case Op::LayerNormGradSums:
      device.layer_norm_grad_sums({.norm = cut_norm(local, step),
                                   .x = local.in(Operand::X),
                                   .gamma = local.in(Operand::Gamma),
                                   .stats = local.in(Operand::Stats),
                                   .dy = local.in(Operand::Dy),
                                   .dsums = local.out(Operand::GradSums),
                                   .dgamma = local.out(Operand::GammaGrad),
                                   .dbeta = local.out(Operand::BetaGrad),
                                   .accumulate = attributes.accumulate});
      break;
    case Op::LayerNormGradApply:
      device.layer_norm_grad_apply({.norm = cut_norm(local, step),
                                    .x = local.in(Operand::X),
                                    .gamma = local.in(Operand::Gamma),
                                    .stats = local.in(Operand::Stats),
                                    .dy = local.in(Operand::Dy),
                                    .dsums = local.in(Operand::GradSums),
                                    .dx = local.out(Operand::Dx)});
      break;
    case Op::Attention: {
      Attention forward = attention_shape(local, step, context);
      forward.qkv = local.in(Operand::Q);
      forward.saved = local.out(Operand::Saved);
      forward.context = local.out(Operand::Context);
      forward.workspace = local.out(Operand::Workspace);
      device.attention(forward);
      break;
    }
    case Op::AttentionGrad: {
      Attention forward = attention_shape(local, step, context);
      forward.qkv = local.in(Operand::Q);
      forward.saved = local.in(Operand::Saved);
      forward.context = local.in(Operand::Context);
      forward.workspace = local.out(Operand::Workspace);
      device.attention_grad({.forward = forward,
                             .dcontext = local.in(Operand::ContextGrad),
                             .dqkv = local.out(Operand::QGrad),
                             .dkv = local.out(Operand::KvGrad)});
      break;
    }
    case Op::CacheAppend:
      device.cache_append(cache_append(local, step, context));
      break;
    case Op::CachedAttention:
      device.cached_attention(cached_attention(local, step, context));
      break;
    case Op::Add:
      device.add(dtype, local.count(local.output(Operand::Y)), local.in(Operand::X),
                 local.in(Operand::Addend), local.out(Operand::Y));
      break;
    case Op::Embedding: {
      const Tensor& table = local.input(Operand::Table);
      device.embedding({.dtype = dtype,
                        .tokens = local.count(local.input(Operand::Ids)),
                        .width = local.matrix(table).cols,
                        .rows = local.range(table, 0),
                        .ids = local.ids(Operand::Ids),
                        .table = local.in(Operand::Table),
                        .y = local.out(Operand::Y)});
      break;
    }
    case Op::EmbeddingGrad: {
      const Tensor& table = local.output(Operand::TableGrad);
      device.embedding_grad({.dtype = local.input(Operand::Dy).dtype,
                             .tokens = local.count(local.input(Operand::Ids)),
                             .width = local.matrix(table).cols,
                             .rows = local.range(table, 0),
                             .ids = local.ids(Operand::Ids),
                             .dy = local.in(Operand::Dy),
                             .dtable = local.out(Operand::TableGrad),
                             .accumulate = attributes.accumulate,
                             .no_gradient_id = attributes.no_gradient_id});
      break;
    }
    case Op::FirstToken: {
      const Shape x = local.input(Operand::X).shape;
      device.first_token(dtype, attributes.batch, x[0] / attributes.batch, x[1], local.in(Operand::X),
                         local.out(Operand::Y));
      break;
    }
    case Op::FirstTokenGrad: {
      const Shape x = local.output(Operand::Dx).shape;
      device.first_token_grad(dtype, attributes.batch, x[0] / attributes.batch, x[1], local.in(Operand::Dy),
                              local.out(Operand::Dx));
      break;
    }
    case Op::Tanh:
      device.tanh(dtype, local.count(local.output(Operand::Y)), local.in(Operand::X), local.out(Operand::Y));
      break;
    case Op::TanhGrad:
      device.tanh_grad({.dtype = dtype,
                        .count = local.count(local.output(Operand::Dx)),
                        .y = local.in(Operand::Y),
                        .dy = local.in(Operand::Dy),
                        .dx = local.out(Operand::Dx)});
      break;
    case Op::Dropout:
      device.dropout(dtype, local.mask(attributes), row_runs(local, attributes), local.in(Operand::X),
                     local.out(Operand::Y));
      break;
    case Op::VocabMax:
      device.vocab_max(local.vocab_shard(attributes), local.in(Operand::Logits), local.out(Operand::Max));
      break;
    case Op::TargetLogit:
      device.target_logit(local.vocab_shard(attributes), local.in(Operand::Logits),
                          local.ids(Operand::Labels), local.out(Operand::Target));
      break;
    case Op::SumExp:
      device.sum_exp({.shard = local.vocab_shard(attributes),
                      .logits = local.in(Operand::Logits),
                      .max = local.in(Operand::Max),
                      .sum = local.out(Operand::SumExp)});
      break;
    case Op::CrossEntropy:
      device.cross_entropy({.dtype = dtype,
                            .tokens = local.count(local.input(Operand::Max)),
                            .max = local.in(Operand::Max),
                            .target = local.in(Operand::Target),
                            .sum = local.in(Operand::SumExp),
                            .weights = local.in(Operand::TokenWeights),
                            .loss = local.out(Operand::Loss)});
      break;
    case Op::CrossEntropyGrad:
      device.cross_entropy_grad({.shard = local.vocab_shard(attributes),
                                 .logits = local.in(Operand::Logits),
                                 .labels = local.ids(Operand::Labels),
                                 .max = local.in(Operand::Max),
                                 .sum = local.in(Operand::SumExp),
                                 .weights = local.in(Operand::TokenWeights),
                                 .scale = local.in(Operand::LossScale),
                                 .dlogits = local.out(Operand::LogitsGrad)});
      break;
    case Op::SquareSum:
      square_sum(device, local, step, context);
      break;
    case Op::ClipFactor:
      clip_factor(device, local, step, context.program.settings.optimizer.clip);
      break;
    case Op::AdamW:
      execute_together({&step, 1}, context);
      break;
    case Op::Round:
      device.round(dtype, local.count(local.output(Operand::Y)), attributes.round_limit, local.in(Operand::X),
                   local.out(Operand::Y));
      break;
    case Op::Identity:
    case Op::Join:
      local.out(0);  // nothing moves; looking up the address counts the bytes as used
      break;
    case Op::Slice: {
      const Tensor& shard = local.output(Operand::Y);
      const Slicing axis = slicing(shard.shape, shard.layout.dim);
      const Range range = local.range(shard, shard.layout.dim);
      device.slice(dtype, axis, range, local.in(Operand::X), local.out(Operand::Y));
      break;
    }
    case Op::AllReduce:
      return all_reduce(step, local, context);
    case Op::ReduceScatter: {
      const Tensor& shard = local.output(Operand::Y);
      return communicator.reduce_scatter(dtype, slicing(shard.shape, shard.layout.dim), local.in(Operand::X),
                                         local.out(Operand::Y));
    }
    case Op::AllGather: {
      const Tensor& shard = local.input(Operand::X);
      return communicator.all_gather(dtype, slicing(shard.shape, shard.layout.dim), local.in(Operand::X),
                                     local.out(Operand::Y));
    }
    case Op::AllToAll:
      return communicator.all_to_all(dtype, local.input(Operand::X).shape, local.input(Operand::X).layout.dim,
                                     local.output(Operand::Y).layout.dim, local.in(Operand::X),
                                     local.out(Operand::Y));
  }
  return {};
}

bool is_same_in_every_pass(const Step& step) {
  return !is_collective(step.op) && step.op != Op::AdamW && step.attributes.dropout == 0;
}

bool may_run_together(const Step& step, const Step& next) {
  return step.op == Op::AdamW && next.op == Op::AdamW;
}

size_t count_together(const Program& program, std::span<const Step> steps, bool watched) {
  size_t count = 1;
  while (count < steps.size() && (may_run_together(steps[count - 1], steps[count]) ||
                                  (!watched && joins(program, steps[count - 1], steps[count]))))
    ++count;
  return count;
}

void execute_together(std::span<const Step> steps, RankContext& context) {
  if (steps.front().op != Op::AdamW) return execute_joined(steps, context);
  std::vector<AdamWStep> updates;
  for (const Step& step : steps) {
    updates.push_back(adamw_step(Local(step, context), step, context));
  }
  context.device.adamw(updates);
}

}  // namespace shardlens
