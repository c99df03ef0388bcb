// One rule for each operation. Sizes are root mean squares, so a sum of k terms of random signs is √k terms
// large. What a rule computes stands for rounding errors: those of a product are each factor's errors times
// the other factors, and not the product of all errors. So many operations in a row add their errors up and
// do not multiply them.
#include "engine/runtime/tensor_size.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "engine/runtime/serial_place.h"
#include "engine/runtime/serial_reference.h"

namespace shardlens {
namespace {

// Below its smallest normal number a format rounds to steps of one size.
constexpr double kLeastFp16 = 0x1p-14;

double root_of_squares(double a, double b, double c = 0) {
  return std::sqrt(a * a + b * b + c * c);
}

class Sizes {
 public:
  Sizes(const Program& program, const SerialReference& serial, double bound)
      : program_(program), serial_(serial), bound_(bound), replicas_(on_replicas(program)) {}

  std::map<std::string, TensorSize> take() {
    for (const Step& step : program_.steps) {
      step_ = &step;
      visit();
    }
    return std::move(sizes_);
  }

 private:
  void visit();
  void product();
  double times_slope(double sum, double own);
  void gelu_grad();
  void norm();
  void norm_grad();
  void attention_grad();
  void loss();
  void square_sum();

  const Tensor* input(Operand operand) const { return find(input_of(program_, *step_, operand)); }
  const Tensor* output(Operand operand) const { return find(output_of(program_, *step_, operand)); }
  const Tensor* find(TensorId id) const { return id == kNoTensor ? nullptr : &program_.tensor(id); }

  // The serial run's name of a value: that of the whole for some rows of it, and of the sum for a term.
  std::string name(const Tensor& tensor) const {
    if (serial_.value(tensor.value) != nullptr) return tensor.value;
    return serial_place(program_, tensor, replicas_[static_cast<size_t>(tensor.id)], 0).value;
  }
  // The elements of the serial value; of the Program's own where there is none.
  double count(const Tensor& tensor) const {
    const SerialValue* value = serial_.value(name(tensor));
    return static_cast<double>(value != nullptr ? value->count : element_count(tensor.shape));
  }
  TensorSize& size(const Tensor& tensor) {
    const auto [found, fresh] = sizes_.try_emplace(tensor.value);
    if (!fresh) return found->second;
    if (const SerialValue* value = serial_.value(name(tensor))) found->second.own = value->rms;
    return found->second;
  }
  // The size whose rounding errors a tensor brings into a step; 0 for none.
  double of(const Tensor* tensor) { return tensor == nullptr ? 0 : size(*tensor).judged(); }
  double of(Operand operand) { return of(input(operand)); }
  // The size of an input's rounding errors if its terms cancelled; else 0. A curved function's slope changes
  // with its argument: the errors of an ordinary argument change it by no more than the slope's own rounding.
  double doubtful(Operand operand) {
    const Tensor& tensor = *input(operand);
    return size(tensor).is_cancelled() ? of(&tensor) : 0;
  }
  // The size of a tensor as a factor of another one's errors.
  double as_factor(const Tensor& tensor) {
    const double own = size(tensor).own;
    return own > 0 ? own : of(&tensor);
  }
  // The rounding errors of a product of elements: those of one factor, times the others.
  double of_product(std::initializer_list<const Tensor*> factors) {
    double most = 0;
    for (const Tensor* const* one = factors.begin(); one != factors.end(); ++one) {
      double errors = of(*one);
      for (const Tensor* const* other = factors.begin(); other != factors.end(); ++other)
        if (other != one) errors *= as_factor(**other);
      most = std::max(most, errors);
    }
    return most;
  }
  // The largest factor by which an input's terms are larger than itself.
  double doubt() {
    double most = 1;
    for (const TensorId id : step_->inputs) {
      const TensorSize& one = size(program_.tensor(id));
      if (one.own > 0) most = std::max(most, one.judged() / one.own);
    }
    return most;
  }
  void set(const Tensor* tensor, double terms) {
    if (tensor == nullptr) return;
    const double least = tensor->dtype == DType::Fp16 ? kLeastFp16 : 0;
    TensorSize& sizes = size(*tensor);
    sizes.terms = std::max({sizes.terms, terms, least});
    if (must_keep_digits(*tensor)) sizes.terms = std::min(sizes.terms, sizes.own / std::sqrt(bound_));
  }
  // A value of the forward pass, whose terms have no reason to cancel each other out: if nothing but their
  // rounding errors is left, the run's results mean nothing, and must not pass. The loss can be near 0, and
  // picked elements can be small by chance.
  bool must_keep_digits(const Tensor& tensor) {
    const TensorSize& sizes = size(tensor);
    return bound_ > 0 && sizes.own > 0 && !sizes.is_picked && tensor.kind == MemoryKind::Activation &&
           step_->op != Op::CrossEntropy && step_->op != Op::SquareSum;
  }
  void set_picked(const Tensor& tensor, double all) {
    size(tensor).is_picked = true;
    set(&tensor, all);
  }
  void set(Operand operand, double terms) { set(output(operand), terms); }
  // A sum over the rows of a matrix of elements of this size, added to what was there.
  void set_column_sums(Operand sums, double element, const Tensor& matrix) {
    const Tensor* const tensor = output(sums);
    if (tensor == nullptr) return;
    const double rows = count(matrix) / count(*tensor);
    set(tensor, root_of_squares(element * std::sqrt(rows), of(Operand::Previous)));
  }

  struct Rows {
    double hat = 1;      // of x / σ, where x̂ is (x - μ) / σ
    double inverse = 1;  // of 1 / σ
  };
  Rows rows_of_norm(const Tensor& x);

  const Program& program_;
  const SerialReference& serial_;
  const double bound_;
  const std::vector<OnReplicas> replicas_;
  const Step* step_ = nullptr;
  std::map<std::string, TensorSize> sizes_;
};

// A product of A [m, k] and B [k, n]: k² is |A|·|B| / |C|, however they are turned.
void Sizes::product() {
  const bool grad_input = step_->op == Op::LinearGradInput;
  const Tensor& a = program_.tensor(step_->inputs[0]);
  const Tensor& b = program_.tensor(step_->inputs[1]);
  const Tensor& c = program_.tensor(step_->outputs[0]);
  const double k = std::sqrt(count(a) * count(b) / count(c));
  const double own = as_factor(a) * as_factor(b) * std::sqrt(k);
  double sum = root_of_squares(of_product({&a, &b}) * std::sqrt(k), of(Operand::Bias));
  if (const Tensor* const h = output(Operand::GeluInput)) {
    set(h, sum);
    return set(Operand::Y, sum / 2);
  }
  if (grad_input && input(Operand::GeluInput) != nullptr) {
    sum = times_slope(sum, own);
    set_column_sums(Operand::BiasGrad, sum, c);
  }
  if (step_->op == Op::LinearGradWeight) {
    sum = root_of_squares(sum, of(Operand::Previous));
    set_column_sums(Operand::BiasGrad, of(Operand::Dy), *input(Operand::Dy));
  }
  set(&c, sum);
}

// GeLU(h) = h·(1 + t)/2 with t between -1 and 1; its slope has the same sum, and is about as curved. `own` is
// the size of the gradient whose terms are `sum`.
double Sizes::times_slope(double sum, double own) {
  return std::max(sum / 2, own * doubtful(Operand::GeluInput) / 2);
}

void Sizes::gelu_grad() {
  const double sum = times_slope(of(Operand::Dy), as_factor(*input(Operand::Dy)));
  set(Operand::Dx, sum);
  set_column_sums(Operand::BiasGrad, sum, *output(Operand::Dx));
}

Sizes::Rows Sizes::rows_of_norm(const Tensor& x) {
  const std::vector<double> values = serial_.numbers(name(x));
  const auto columns = static_cast<size_t>(x.shape.back());
  if (values.empty()) return {};
  double hats = 0, inverses = 0;
  for (size_t row = 0; row < values.size(); row += columns) {
    double sum = 0, squares = 0, apart = 0;
    for (size_t i = row; i < row + columns; ++i) sum += values[i], squares += values[i] * values[i];
    const auto n = static_cast<double>(columns);
    for (size_t i = row; i < row + columns; ++i) apart += (values[i] - sum / n) * (values[i] - sum / n);
    const double inverse_square = 1 / (apart / n + program_.settings.model.norm_epsilon);
    hats += squares / n * inverse_square;
    inverses += inverse_square;
  }
  const double rows = static_cast<double>(values.size() / columns);
  return {std::sqrt(hats / rows), std::sqrt(inverses / rows)};
}

// Y = γ∘(x - μ)/σ + β
void Sizes::norm() {
  const Tensor* x = input(Operand::X);
  if (const Tensor* const sum = output(Operand::Sum)) {
    set(sum, root_of_squares(of(x), of(Operand::Addend), of(Operand::Bias)));
    x = sum;
  }
  const double own = size(*x).own;
  const double columns = static_cast<double>(x->shape.back());
  const Rows rows = rows_of_norm(*x);
  const double hat = rows.hat * (own > 0 ? of(x) / own : 1);
  set(Operand::Y, root_of_squares(of(Operand::Gamma) * hat, of(Operand::Beta)));
  const double inverse = rows.inverse * std::max(1.0, hat / std::sqrt(columns));
  set(Operand::Stats, root_of_squares(of(x) / std::sqrt(columns), inverse) / std::sqrt(2.0));
}

// dX = (g - mean(g) - x̂·mean(g·x̂))/σ with g = γ∘dY. In rows of one or two elements nothing is left of it.
void Sizes::norm_grad() {
  const Tensor& x = *input(Operand::X);
  const Tensor& dy = *input(Operand::Dy);
  const Rows rows = rows_of_norm(x);
  const double by_hat = std::max(of(&dy), as_factor(dy) * std::max(1.0, rows.hat));  // of dY ∘ x̂
  const double gamma = of(Operand::Gamma);
  set(Operand::Dx, root_of_squares(rows.inverse * gamma * by_hat, of(Operand::Addend)));
  const double columns = static_cast<double>(x.shape.back());
  set(Operand::GradSums, std::sqrt(columns) * gamma * root_of_squares(of(&dy), by_hat) / std::sqrt(2.0));
  set_column_sums(Operand::GammaGrad, by_hat, dy);
  set_column_sums(Operand::BetaGrad, of(&dy), dy);
}

// dQ = dS·K/√d with dS = P∘(dP - Σ P∘dP) and dP = dC·Vᵀ: where P is nearly 1, the two terms are nearly equal.
void Sizes::attention_grad() {
  const bool grouped = input(Operand::Kv) != nullptr;
  const Tensor& q = *input(Operand::Q);
  const Tensor& kv = grouped ? *input(Operand::Kv) : q;
  const double group = grouped ? 2 * count(q) / count(kv) : 1;
  // A row of P; where only the statistics are kept, Σ P² of a row is at most its largest element, 1/Σ.
  double row = 1;
  const Tensor& saved = *input(Operand::Saved);
  if (program_.settings.recompute != Recompute::Selective) {
    row = size(saved).own * std::sqrt(static_cast<double>(saved.shape.back()));
  } else if (const std::vector<double> stats = serial_.numbers(name(saved)); !stats.empty()) {
    double largest = 0;
    for (size_t i = 1; i < stats.size(); i += 2) largest += stats[i];
    row = std::sqrt(2 * largest / static_cast<double>(stats.size()));
  }
  const Tensor& dc = *input(Operand::ContextGrad);
  const double shared = std::sqrt(group) * row;
  const double dq = row * of_product({&dc, &kv, &kv}), dk = shared * of_product({&dc, &kv, &q}),
               dv = shared * of(&dc);
  if (!grouped) return set(Operand::QGrad, root_of_squares(dq, dk, dv) / std::sqrt(3.0));
  set(Operand::QGrad, dq);
  set(Operand::KvGrad, root_of_squares(dk, dv) / std::sqrt(2.0));
}

// L = Σ w (m + log s - t), and its gradient w (p - 1) at the label
void Sizes::loss() {
  const Tensor* const weights = input(Operand::TokenWeights);
  if (step_->op == Op::CrossEntropyGrad) {
    const Tensor* const scale = input(Operand::LossScale);
    const Tensor& dlogits = *output(Operand::LogitsGrad);
    return set(&dlogits, of(weights) * (scale == nullptr ? 1 : of(scale)) *
                             std::max(1.0, doubtful(Operand::Logits)) *
                             std::sqrt(count(*weights) / count(dlogits)));
  }
  set(Operand::Loss,
      of(weights) * std::sqrt(count(*weights)) * root_of_squares(of(Operand::Max), of(Operand::Target), 1));
}

// Σ g²: an error e of g changes it by 2·g·e + e².
void Sizes::square_sum() {
  double sum = 0;
  for (const TensorId id : step_->inputs) {
    const Tensor& gradient = program_.tensor(id);
    sum += count(gradient) * of(&gradient) * (size(gradient).own + bound_ * of(&gradient));
  }
  set(&program_.tensor(step_->outputs[0]), sum);
}

void Sizes::visit() {
  const Tensor& first = program_.tensor(step_->outputs[0]);
  switch (step_->op) {
    case Op::Linear:
    case Op::LinearGradInput:
    case Op::LinearGradWeight:
      return product();
    case Op::BiasAdd:
      return set(&first, root_of_squares(of(Operand::X), of(Operand::Bias), of(Operand::Addend)));
    case Op::BiasGrad:
      return set_column_sums(Operand::BiasGrad, of(Operand::Dy), *input(Operand::Dy));
    case Op::Gelu:
      return set(&first, of(Operand::GeluInput) / 2);
    case Op::GeluGrad:
      return gelu_grad();
    case Op::LayerNorm:
    case Op::LayerNormApply:
      return norm();
    case Op::LayerNormGrad:
    case Op::LayerNormGradSums:
    case Op::LayerNormGradApply:
      return norm_grad();
    case Op::AttentionGrad:
      return attention_grad();
    case Op::Add:
      return set(&first, root_of_squares(of(Operand::X), of(Operand::Addend)));
    case Op::EmbeddingGrad:
      return set(&first,
                 root_of_squares(of(Operand::Dy) * std::sqrt(count(*input(Operand::Dy)) / count(first)),
                                 of(Operand::Previous)));
    case Op::Dropout:  // picks elements, whose errors are those of all
      return set_picked(first, of(Operand::X) / std::sqrt(1 - step_->attributes.dropout));
    case Op::TanhGrad:  // dY (1 - Y²)
      return set(&first,
                 std::max(of(Operand::Dy), 2 * as_factor(*input(Operand::Dy)) * doubtful(Operand::Y)));
    case Op::VocabMax:
      return set_picked(first, of(Operand::Logits));
    case Op::TargetLogit: {
      // A picked logit has the rounding errors of a long sum, like every logit. An ignored label picks none.
      const std::vector<double> picked = serial_.numbers(name(first));
      const auto some =
          static_cast<double>(std::count_if(picked.begin(), picked.end(), [](double x) { return x != 0; }));
      return set_picked(first, of(Operand::Logits) * std::sqrt(some / std::max(1.0, count(first))));
    }
    case Op::CrossEntropy:
    case Op::CrossEntropyGrad:
      return loss();
    case Op::SquareSum:
      return square_sum();
    case Op::Round:  // to integers, which have no errors
    case Op::AdamW:  // compared where the learning rate is 0
    case Op::CacheAppend:
    case Op::LayerNormSums:  // of each rank's slice: the serial run has no such value
      return;
    default:
      break;
  }
  if (!is_conversion(step_->op)) {  // each element from one of an input, or a mean of some
    const double factor = doubt();
    for (const TensorId id : step_->outputs)
      set(&program_.tensor(id), factor * size(program_.tensor(id)).own);
    return;
  }
  for (size_t i = 0; i < step_->outputs.size(); ++i)
    set(&program_.tensor(step_->outputs[i]), size(program_.tensor(step_->inputs[i])).terms);
}

}  // namespace

std::map<std::string, TensorSize> tensor_sizes(const Program& program, const SerialReference& serial,
                                               double bound) {
  return Sizes(program, serial, bound).take();
}

}  // namespace shardlens
