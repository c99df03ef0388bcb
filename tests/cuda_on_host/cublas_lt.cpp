// Products by their definition. The algorithms differ in what they accept and in the order of their sums.
#include <cublasLt.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

namespace {

double read(const void* matrix, cudaDataType_t type, int64_t at) {
  switch (type) {
    case CUDA_R_32F:
      return static_cast<double>(static_cast<const float*>(matrix)[at]);
    case CUDA_R_64F:
      return static_cast<const double*>(matrix)[at];
    case CUDA_R_16F:
      return static_cast<double>(__half2float(static_cast<const __half*>(matrix)[at]));
    case CUDA_R_16BF:
      return static_cast<double>(__bfloat162float(static_cast<const __nv_bfloat16*>(matrix)[at]));
  }
  return NAN;
}

void write(void* matrix, cudaDataType_t type, int64_t at, double value) {
  if (type == CUDA_R_32F) static_cast<float*>(matrix)[at] = static_cast<float>(value);
  if (type == CUDA_R_64F) static_cast<double*>(matrix)[at] = value;
  if (type == CUDA_R_16F) static_cast<__half*>(matrix)[at] = __float2half_rn(static_cast<float>(value));
  if (type == CUDA_R_16BF)
    static_cast<__nv_bfloat16*>(matrix)[at] = __float2bfloat16_rn(static_cast<float>(value));
}

template <class T>
cublasStatus_t take(T& field, const void* value, size_t bytes) {
  if (bytes != sizeof field) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&field, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

template <class T>
cublasStatus_t destroy(T* object) {
  delete object;
  return CUBLAS_STATUS_SUCCESS;
}

/// `lines` lines of a product's first matrix, or of its second one transposed, `depth` numbers in each.
std::vector<double> lines_of(const void* matrix, const HostMatrix& layout, bool along_rows, int64_t lines,
                             int64_t depth) {
  std::vector<double> numbers(static_cast<size_t>(lines * depth));
  for (int64_t line = 0; line < lines; ++line)
    for (int64_t i = 0; i < depth; ++i)
      numbers[static_cast<size_t>(line * depth + i)] =
          read(matrix, layout.type, along_rows ? line + i * layout.stride : i + line * layout.stride);
  return numbers;
}

std::atomic<cublasLtEpilogue_t> last_epilogue = CUBLASLT_EPILOGUE_DEFAULT;
std::atomic<cublasStatus_t> refusal = CUBLAS_STATUS_SUCCESS, late_refusal = CUBLAS_STATUS_SUCCESS;

/// Equal ones, one by one that differs in each respect, and one that looks equal and is not.
const std::vector<PlayedAlgorithm> kUsual = {{},
                                             {},
                                             {.backwards = true},
                                             {.launches = false},
                                             {.backwards = true, .parts = 4},
                                             {.backwards = true, .units = 0x0202},
                                             {},
                                             {}};
std::mutex algorithms_mutex;
std::vector<PlayedAlgorithm> offered = kUsual;
std::atomic<int> last_algorithm = 0, asked = 0;

PlayedAlgorithm played(const cublasLtMatmulAlgo_t& algorithm) {
  const std::lock_guard lock(algorithms_mutex);
  return offered.at(static_cast<size_t>(algorithm.place));
}

/// Σ over i of term(i), in double from the first on or as an algorithm that adds up elsewhere does.
template <class Term>
double sum_of(int64_t count, bool backwards, const Term& term) {
  if (backwards) {
    float sum = 0;
    for (int64_t i = count; i-- > 0;) sum += static_cast<float>(term(i));
    return static_cast<double>(sum);
  }
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += term(i);
  return sum;
}

template <class T>
cublasStatus_t give(const T& field, void* value, size_t bytes) {
  if (bytes != sizeof field) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(value, &field, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

bool has_bias(cublasLtEpilogue_t epilogue) {
  return epilogue == CUBLASLT_EPILOGUE_BIAS || epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
}

bool has_before(cublasLtEpilogue_t epilogue) {
  return epilogue != CUBLASLT_EPILOGUE_DEFAULT && epilogue != CUBLASLT_EPILOGUE_BIAS &&
         epilogue != CUBLASLT_EPILOGUE_BGRADA;
}

/// What the manual demands of a bias gradient, and of the auxiliary matrix of a GeLU, in the type of D and as
/// long as it.
bool is_valid(const HostProduct& product, const HostMatrix& d) {
  if (product.epilogue == CUBLASLT_EPILOGUE_BGRADA)
    return product.bias != nullptr && product.bias_type == d.type && product.compute != CUBLAS_COMPUTE_64F;
  if (!has_before(product.epilogue)) return true;
  return product.before != nullptr && product.before_stride % 8 == 0 && product.before_stride >= d.rows &&
         product.compute != CUBLAS_COMPUTE_64F;
}

/// The share of x that GeLU lets through, by tanh; and by how much it grows with x.
struct Gate {
  double value, slope;
};
Gate gate_of(double x) {
  const double scale = std::sqrt(2 / std::acos(-1.0)), cubic = 0.044715;
  const double tanh = std::tanh(scale * (x + cubic * x * x * x));
  return {(1 + tanh) / 2, (1 - tanh * tanh) / 2 * scale * (1 + 3 * cubic * x * x)};
}

}  // namespace

cublasLtEpilogue_t last_epilogue_played() {
  return last_epilogue;
}

void refuse_epilogues(cublasStatus_t answer, bool late) {
  (late ? late_refusal : refusal) = answer;
}

void offer_algorithms(std::vector<PlayedAlgorithm> algorithms) {
  const std::lock_guard lock(algorithms_mutex);
  offered = algorithms.empty() ? kUsual : std::move(algorithms);
}
int last_algorithm_played() {
  return last_algorithm;
}
int products_asked() {
  return asked;
}

const char* cublasLtGetStatusName(cublasStatus_t status) {
  return status == CUBLAS_STATUS_EXECUTION_FAILED ? "CUBLAS_STATUS_EXECUTION_FAILED"
                                                  : "CUBLAS_STATUS_INVALID_VALUE";
}
const char* cublasLtGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_EXECUTION_FAILED ? "the launch failed" : "an argument has an illegal value";
}
cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = new HostHandle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  return destroy(handle);
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* product, cublasComputeType_t compute,
                                        cudaDataType_t) {
  *product = new HostProduct{.compute = compute};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product) {
  return destroy(product);
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t product,
                                              cublasLtMatmulDescAttributes_t attribute, const void* value,
                                              size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return take(product->transpose_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return take(product->transpose_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return take(product->epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
      return take(product->bias_type, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return take(product->bias, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
      return take(product->before, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
      return take(product->before_stride, value, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType_t type, uint64_t rows,
                                          uint64_t cols, int64_t stride) {
  if (rows == 0 || cols == 0 || stride < static_cast<int64_t>(rows)) return CUBLAS_STATUS_INVALID_VALUE;
  *layout = new HostMatrix{type, static_cast<int64_t>(rows), static_cast<int64_t>(cols), stride};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return destroy(layout);
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = new HostPreference;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return destroy(preference);
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void*, size_t bytes) {
  const size_t due =
      attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES ? sizeof(size_t) : sizeof(uint32_t);
  return bytes == due ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t product,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t, int wanted,
                                              cublasLtMatmulHeuristicResult_t* results, int* found) {
  if (!is_valid(*product, *d)) return CUBLAS_STATUS_INVALID_VALUE;
  if (product->epilogue != CUBLASLT_EPILOGUE_DEFAULT && refusal != CUBLAS_STATUS_SUCCESS) return refusal;
  const std::lock_guard lock(algorithms_mutex);
  *found = 0;
  for (int i = 0; i < static_cast<int>(offered.size()) && *found < wanted; ++i)
    if (product->epilogue != CUBLASLT_EPILOGUE_BGRADA || offered[static_cast<size_t>(i)].has_sums)
      results[(*found)++] = {{i}, CUBLAS_STATUS_SUCCESS};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algorithm,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute,
                                                    void* value, size_t bytes, size_t*) {
  if (attribute == CUBLASLT_ALGO_CONFIG_ID) return give(played(*algorithm).id, value, bytes);
  if (attribute == CUBLASLT_ALGO_CONFIG_STAGES_ID) return give(uint32_t{0}, value, bytes);
  if (attribute == CUBLASLT_ALGO_CONFIG_TILE_ID) return give(played(*algorithm).tile, value, bytes);
  const int32_t parts = played(*algorithm).parts;
  if (attribute == CUBLASLT_ALGO_CONFIG_SPLITK_NUM) return give(parts, value, bytes);
  return give(parts > 1 ? CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE : CUBLASLT_REDUCTION_SCHEME_NONE, value,
              bytes);
}
cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t* algorithm,
                                                 cublasLtMatmulAlgoCapAttributes_t, void* value, size_t bytes,
                                                 size_t*) {
  return give(played(*algorithm).units, value, bytes);
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t product, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                              cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algorithm, void*, size_t, cudaStream_t stream) {
  const cublasOperation_t ta = product->transpose_a, tb = product->transpose_b;
  const int64_t m = d_layout->rows, n = d_layout->cols,
                k = ta == CUBLAS_OP_N ? a_layout->cols : a_layout->rows;
  if ((ta == CUBLAS_OP_N ? a_layout->rows : a_layout->cols) != m) return CUBLAS_STATUS_INVALID_VALUE;
  if ((tb == CUBLAS_OP_N ? b_layout->cols : b_layout->rows) != n) return CUBLAS_STATUS_INVALID_VALUE;
  if ((tb == CUBLAS_OP_N ? b_layout->rows : b_layout->cols) != k) return CUBLAS_STATUS_INVALID_VALUE;
  if (!is_valid(*product, *d_layout)) return CUBLAS_STATUS_INVALID_VALUE;
  if (product->epilogue != CUBLASLT_EPILOGUE_DEFAULT && late_refusal != CUBLAS_STATUS_SUCCESS)
    return late_refusal;
  if (const int failure = std::exchange(on_host::next_product, 0))
    return static_cast<cublasStatus_t>(failure);
  last_epilogue = product->epilogue;
  const PlayedAlgorithm by = played(*algorithm);
  if (!by.launches) {
    on_host::last_error = cudaErrorInvalidValue;
    return CUBLAS_STATUS_EXECUTION_FAILED;
  }
  ++asked;
  ++on_host::launches;
  // The descriptions are read now, and may be another product's when it is done.
  const cudaDataType_t scale = product->compute == CUBLAS_COMPUTE_64F ? CUDA_R_64F : CUDA_R_32F;
  const double factor = read(alpha, scale, 0), share = read(beta, scale, 0);
  on_host::ask(stream, [=, place = algorithm->place, of = *product, la = *a_layout, lb = *b_layout,
                        lc = *c_layout, ld = *d_layout] {
    last_algorithm = place;
    on_host::let_time_pass(by.seconds);
    const std::vector<double> left = lines_of(a, la, ta == CUBLAS_OP_N, m, k),
                              right = lines_of(b, lb, tb != CUBLAS_OP_N, n, k);
    for (int64_t row = 0; of.epilogue == CUBLASLT_EPILOGUE_BGRADA && row < m; ++row)
      write(of.bias, of.bias_type, row, sum_of(k, by.backwards, [&](int64_t i) {
                                          return left[static_cast<size_t>(row * k + i)];
                                        }) + by.beside);
    for (int64_t col = 0; col < n; ++col)
      for (int64_t row = 0; row < m; ++row) {
        const double* const own = left.data() + (by.mirrored ? m - 1 - row : row) * k;
        const double* const other = right.data() + col * k;
        double sum = sum_of(k, by.backwards, [&](int64_t i) { return own[i] * other[i]; });
        sum *= factor;
        if (share != 0) sum += share * read(c, lc.type, row + col * lc.stride);
        if (has_bias(of.epilogue)) sum += read(of.bias, of.bias_type, row);
        if (has_before(of.epilogue)) {
          const int64_t at = row + col * of.before_stride;
          if (of.epilogue == CUBLASLT_EPILOGUE_DGELU) {
            const double x = read(of.before, ld.type, at);
            const Gate gate = gate_of(x);
            sum *= gate.value + x * gate.slope;
          } else {
            write(of.before, ld.type, at, sum + by.beside);
            sum *= gate_of(sum).value;
          }
        }
        write(d, ld.type, row + col * ld.stride, sum);
      }
  });
  return CUBLAS_STATUS_SUCCESS;
}
