// Steps to device calls. Every extent comes from the tensors' local shapes, so uneven and empty slices need
// no case.
#include "engine/runtime/execute.h"

namespace shardlens {
namespace {

// A step seen from one rank: its tensors' local shapes and addresses by position.
class Local {
 public:
  Local(const Step& step, RankContext& context) : step_(step), context_(context) {}

  const Tensor& input(size_t i) const { return context_.program.tensor(step_.inputs[i]); }
  const Tensor& output(size_t i) const { return context_.program.tensor(step_.outputs[i]); }
  void* in(size_t i) const { return context_.arenas.at(step_.inputs[i]); }
  void* out(size_t i) const { return context_.arenas.at(step_.outputs[i]); }
  Shape shape(const Tensor& tensor) const {
    return local_shape(tensor, context_.program.ranks(), context_.rank);
  }
  MatrixShape matrix(const Tensor& tensor) const {
    return local_matrix_shape(tensor, context_.program.ranks(), context_.rank);
  }
  int64_t count(const Tensor& tensor) const { return element_count(shape(tensor)); }
  DType dtype() const { return output(0).dtype; }

 private:
  const Step& step_;
  RankContext& context_;
};

// Y[tokens, out] = X[tokens, in] · W[in, out] (+ b)
void linear(Device& device, const Local& local, bool has_bias) {
  const MatrixShape w = local.matrix(local.input(1));
  Gemm gemm;
  gemm.dtype = local.dtype();
  gemm.m = local.shape(local.input(0))[0];
  gemm.n = w.cols;
  gemm.k = w.rows;
  gemm.a = local.in(0);
  gemm.lda = w.rows;
  gemm.b = local.in(1);
  gemm.ldb = w.cols;
  gemm.c = local.out(0);
  gemm.ldc = w.cols;
  gemm.bias = has_bias ? local.in(2) : nullptr;
  device.gemm(gemm);
}

// dX[tokens, in] = dY[tokens, out] · Wᵀ
void linear_grad_input(Device& device, const Local& local) {
  const MatrixShape w = local.matrix(local.input(1));
  Gemm gemm;
  gemm.dtype = local.dtype();
  gemm.transpose_b = true;
  gemm.m = local.shape(local.input(0))[0];
  gemm.n = w.rows;
  gemm.k = w.cols;
  gemm.a = local.in(0);
  gemm.lda = w.cols;
  gemm.b = local.in(1);
  gemm.ldb = w.cols;
  gemm.c = local.out(0);
  gemm.ldc = w.rows;
  device.gemm(gemm);
}

// dW[in, out] = Xᵀ · dY
void linear_grad_weight(Device& device, const Local& local) {
  const MatrixShape w = local.matrix(local.output(0));
  Gemm gemm;
  gemm.dtype = local.dtype();
  gemm.transpose_a = true;
  gemm.m = w.rows;
  gemm.n = w.cols;
  gemm.k = local.shape(local.input(0))[0];
  gemm.a = local.in(0);
  gemm.lda = w.rows;
  gemm.b = local.in(1);
  gemm.ldb = w.cols;
  gemm.c = local.out(0);
  gemm.ldc = w.cols;
  device.gemm(gemm);
}

AttentionShape attention_shape(const Local& local, const Step& step) {
  const Shape qkv = local.shape(local.input(0));  // [tokens, 3, heads, head_dim]
  AttentionShape shape;
  shape.dtype = local.dtype();
  shape.batch = step.attributes.batch;
  shape.seq = qkv[0] / step.attributes.batch;
  shape.heads = qkv[2];
  shape.head_dim = qkv[3];
  shape.causal = step.attributes.causal;
  return shape;
}

}  // namespace

CollectiveTimes execute(const Step& step, RankContext& context) {
  const Local local(step, context);
  Device& device = context.device;
  Communicator& communicator = context.communicator;
  const DType dtype = local.dtype();
  const Attributes& attributes = step.attributes;
  switch (step.op) {
    case Op::Linear:
      linear(device, local, step.inputs.size() == 3);
      break;
    case Op::LinearGradInput:
      linear_grad_input(device, local);
      break;
    case Op::LinearGradWeight:
      linear_grad_weight(device, local);
      break;
    case Op::BiasAdd: {
      const int64_t cols = local.count(local.input(1));
      device.bias_add(dtype, local.shape(local.input(0))[0], cols, local.in(0), local.in(1), local.out(0));
      break;
    }
    case Op::BiasGrad: {
      const int64_t cols = local.count(local.output(0));
      device.bias_grad(dtype, local.shape(local.input(0))[0], cols, local.in(0), local.out(0));
      break;
    }
    case Op::Gelu:
      device.gelu(dtype, attributes.gelu, local.count(local.output(0)), local.in(0), local.out(0));
      break;
    case Op::GeluGrad:
      device.gelu_grad(dtype, attributes.gelu, local.count(local.output(0)), local.in(0), local.in(1),
                       local.out(0));
      break;
    case Op::LayerNorm: {
      const MatrixShape x = local.matrix(local.input(0));
      device.layer_norm(dtype, x.rows, x.cols, attributes.epsilon, local.in(0), local.in(1), local.in(2),
                        local.out(0), local.out(1));
      break;
    }
    case Op::LayerNormGrad: {
      const MatrixShape x = local.matrix(local.input(0));
      device.layer_norm_grad(dtype, x.rows, x.cols, local.in(0), local.in(1), local.in(2), local.in(3),
                             local.out(0), local.out(1), local.out(2));
      break;
    }
    case Op::Attention:
      device.attention(attention_shape(local, step), local.in(0), local.out(1), local.out(0));
      break;
    case Op::AttentionGrad:
      device.attention_grad(attention_shape(local, step), local.in(0), local.in(1), local.in(2), local.in(3),
                            local.out(0), local.out(1));
      break;
    case Op::Add:
      device.add(dtype, local.count(local.output(0)), local.in(0), local.in(1), local.out(0));
      break;
    case Op::Round:
      device.round(dtype, local.count(local.output(0)), attributes.round_limit, local.in(0), local.out(0));
      break;
    case Op::Identity:
      local.out(0);
      break;
    case Op::Slice: {
      const Tensor& shard = local.output(0);
      const Slicing axis = slicing(shard.shape, shard.layout.dim);
      const Range range = shard_range(axis.extent, context.program.ranks(), context.rank);
      device.slice(dtype, axis, range, local.in(0), local.out(0));
      break;
    }
    case Op::AllReduce: {
      const int64_t count = local.count(local.output(0));
      if (local.in(0) != local.out(0)) {  // not in place: the term stays as it was
        device.slice(dtype, {1, count, 1}, {0, count}, local.in(0), local.out(0));
      }
      return communicator.all_reduce(dtype, count, local.out(0));
    }
    case Op::ReduceScatter: {
      const Tensor& shard = local.output(0);
      return communicator.reduce_scatter(dtype, slicing(shard.shape, shard.layout.dim), local.in(0),
                                         local.out(0));
    }
    case Op::AllGather: {
      const Tensor& shard = local.input(0);
      return communicator.all_gather(dtype, slicing(shard.shape, shard.layout.dim), local.in(0),
                                     local.out(0));
    }
    case Op::AllToAll:
      return communicator.all_to_all(dtype, local.input(0).shape, local.input(0).layout.dim,
                                     local.output(0).layout.dim, local.in(0), local.out(0));
  }
  return {};
}

}  // namespace shardlens
