// The GEMM, by cuBLASLt. The library is column-major: our row-major matrix is the transposed one for it. So
// we ask for Cᵀ = op(B)ᵀ·op(A)ᵀ instead of C = op(A)·op(B), with A and B swapped and m and n swapped. The
// library's bias has one number for each row of Cᵀ, which is a column of C, as it must be. GeLU's input H has
// the layout of C, so it is Hᵀ for the library.
//
// Sums are fp32 (fp64 for fp64) and rounded once. If the library splits a sum over k, it may add the parts
// only in that type. TF32 is used only if it is asked for. products.h describes the choice of algorithms.
#include <algorithm>
#include <optional>
#include <string>

#include "engine/device/cuda/products.h"
#include "engine/device/cuda/tokens.h"
#include "engine/device/cuda/waves.h"
#include "engine/device/product_and_pass.h"

namespace shardlens::cuda {

namespace {

/// Trials for one shape. If the operands cannot show a difference at first, later ones may.
constexpr int kMostTrials = 4;
/// Trials of different shapes at a time. A rank asks ahead of its GPU. A shape that finds no free trial gets
/// one later.
constexpr size_t kTrialsAtATime = 4;

cudaDataType_t data_type(DType dtype) {
  switch (dtype) {
    case DType::Fp32:
      return CUDA_R_32F;
    case DType::Fp64:
      return CUDA_R_64F;
    case DType::Fp16:
      return CUDA_R_16F;
    case DType::Bf16:
      return CUDA_R_16BF;
    case DType::Int32:
      break;
  }
  throw request_error("a GEMM in " + to_string(dtype) + " is not executed on a GPU");
}

DType result_type(const Gemm& gemm) {
  return gemm.wide_result && gemm.dtype != DType::Fp64 ? DType::Fp32 : gemm.dtype;
}

std::string describe(const Gemm& gemm) {
  return "the GEMM m " + std::to_string(gemm.m) + ", n " + std::to_string(gemm.n) + ", k " +
         std::to_string(gemm.k) + " in " + to_string(gemm.dtype);
}

/// The address's alignment in bytes for the library, at most 16. The library's loads are not wider. Ranks
/// have the same tensor at different multiples of 64, and must get the same algorithm.
uint32_t alignment(const void* pointer) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  uint32_t bytes = 16;
  while (address % bytes != 0) bytes /= 2;
  return bytes;
}

/// True if the library can add the bias when it stores C. It cannot if C and the bias have different types,
/// for fp64 (its documentation does not define these epilogues), or if the bias is not aligned (no preference
/// can express this). Then, and if the library has no such algorithm, C is first set to the bias and the
/// product is added to it.
bool asks_for_epilogue(const Gemm& gemm) {
  return gemm.bias != nullptr && !gemm.accumulate && !gemm.wide_result && gemm.dtype != DType::Fp64 &&
         alignment(gemm.bias) == 16;
}

/// True if the library can store the sums of our B's rows with C. They have C's type, and in which order it
/// adds is not documented, so only 16-bit operands have them. It would not add them to others.
bool asks_for_sums(const Gemm& gemm) {
  return gemm.sums.db != nullptr && gemm.after == AfterProduct::Nothing && !gemm.sums.accumulate &&
         !gemm.accumulate && gemm.bias == nullptr && gemm.wide_result && element_bytes(gemm.dtype) == 2 &&
         alignment(gemm.sums.db) == 16;
}

bool reads_bias(cublasLtEpilogue_t epilogue) {
  return epilogue == CUBLASLT_EPILOGUE_BIAS || epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
}

/// The library's first matrix is our B.
bool writes_sums(cublasLtEpilogue_t epilogue) {
  return epilogue == CUBLASLT_EPILOGUE_BGRADA;
}

bool has_before(cublasLtEpilogue_t epilogue) {
  return epilogue != CUBLASLT_EPILOGUE_DEFAULT && epilogue != CUBLASLT_EPILOGUE_BIAS &&
         !writes_sums(epilogue);
}

bool writes_before(cublasLtEpilogue_t epilogue) {
  return has_before(epilogue) && epilogue != CUBLASLT_EPILOGUE_DGELU;
}

/// True if the library refuses a product with an epilogue. Its documentation does not list the combinations
/// of epilogues, types and alignments that it refuses.
bool is_refusal(cublasStatus_t status, cublasLtEpilogue_t epilogue) {
  return epilogue != CUBLASLT_EPILOGUE_DEFAULT &&
         (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE);
}

/// The library's epilogue for a product: what it does when it stores C.
cublasLtEpilogue_t epilogue_of(const Gemm& gemm) {
  if (gemm.after == AfterProduct::GeluGrad) return CUBLASLT_EPILOGUE_DGELU;
  if (asks_for_sums(gemm)) return CUBLASLT_EPILOGUE_BGRADA;
  const bool bias = asks_for_epilogue(gemm);
  if (gemm.after == AfterProduct::Gelu)
    return bias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX;
  return bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

/// What the library reports about an algorithm's effect on the bits: the number of parts of a sum over k, how
/// they are added, and the units and types that compute it.
struct Numerics {
  int32_t parts = 1;
  uint32_t meeting = CUBLASLT_REDUCTION_SCHEME_NONE;
  uint64_t units = 0;
  bool operator==(const Numerics&) const = default;
};

/// Nothing if the library does not report it.
std::optional<Numerics> numerics_of(const cublasLtMatmulAlgo_t& algorithm) {
  Numerics numerics;
  const auto configured = [&](cublasLtMatmulAlgoConfigAttributes_t attribute, auto& value) {
    return cublasLtMatmulAlgoConfigGetAttribute(&algorithm, attribute, &value, sizeof value, nullptr) ==
           CUBLAS_STATUS_SUCCESS;
  };
  const bool told =
      configured(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, numerics.parts) &&
      configured(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, numerics.meeting) &&
      cublasLtMatmulAlgoCapGetAttribute(&algorithm, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS, &numerics.units,
                                        sizeof numerics.units, nullptr) == CUBLAS_STATUS_SUCCESS;
  return told ? std::optional(numerics) : std::nullopt;
}

/// The sides of the tiles that large products have. The library has no call for them, only their names.
struct Tile {
  uint32_t id;
  int64_t rows, cols;
};
#define SHARDLENS_TILE(rows, cols)                   \
  Tile {                                             \
    CUBLASLT_MATMUL_TILE_##rows##x##cols, rows, cols \
  }
constexpr Tile kTiles[] = {
    SHARDLENS_TILE(64, 64),   SHARDLENS_TILE(64, 96),   SHARDLENS_TILE(64, 128),  SHARDLENS_TILE(64, 192),
    SHARDLENS_TILE(64, 256),  SHARDLENS_TILE(64, 512),  SHARDLENS_TILE(96, 64),   SHARDLENS_TILE(96, 128),
    SHARDLENS_TILE(96, 192),  SHARDLENS_TILE(96, 256),  SHARDLENS_TILE(128, 64),  SHARDLENS_TILE(128, 96),
    SHARDLENS_TILE(128, 128), SHARDLENS_TILE(128, 160), SHARDLENS_TILE(128, 192), SHARDLENS_TILE(128, 256),
    SHARDLENS_TILE(160, 128), SHARDLENS_TILE(160, 192), SHARDLENS_TILE(160, 256), SHARDLENS_TILE(192, 64),
    SHARDLENS_TILE(192, 96),  SHARDLENS_TILE(192, 128), SHARDLENS_TILE(192, 160), SHARDLENS_TILE(192, 192),
    SHARDLENS_TILE(192, 256), SHARDLENS_TILE(256, 64),  SHARDLENS_TILE(256, 96),  SHARDLENS_TILE(256, 128),
    SHARDLENS_TILE(256, 160), SHARDLENS_TILE(256, 192), SHARDLENS_TILE(256, 256), SHARDLENS_TILE(512, 64)};
#undef SHARDLENS_TILE

/// How an algorithm cuts its product. Nothing if the library does not report it, or reports another tile.
std::optional<ProductCut> cut_of(const cublasLtMatmulAlgo_t& algorithm) {
  const std::optional<Numerics> numerics = numerics_of(algorithm);
  uint32_t id = 0;
  if (!numerics || cublasLtMatmulAlgoConfigGetAttribute(&algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID, &id,
                                                        sizeof id, nullptr) != CUBLAS_STATUS_SUCCESS)
    return std::nullopt;
  const auto* const tile = std::ranges::find(kTiles, id, &Tile::id);
  if (tile == std::end(kTiles)) return std::nullopt;
  return ProductCut{tile->rows, tile->cols, std::max<int64_t>(numerics->parts, 1)};
}

/// True if both are the same kernel, except for what it does when it stores C, as far as the library reports.
bool is_same_kernel(const cublasLtMatmulAlgo_t& a, const cublasLtMatmulAlgo_t& b) {
  constexpr cublasLtMatmulAlgoConfigAttributes_t kAttributes[] = {
      CUBLASLT_ALGO_CONFIG_ID, CUBLASLT_ALGO_CONFIG_TILE_ID, CUBLASLT_ALGO_CONFIG_SPLITK_NUM,
      CUBLASLT_ALGO_CONFIG_STAGES_ID};
  return std::ranges::all_of(kAttributes, [&](cublasLtMatmulAlgoConfigAttributes_t attribute) {
    uint32_t of_a = 0, of_b = 0;  // all four have 32 bits
    const auto is_told = [&](const cublasLtMatmulAlgo_t& algorithm, uint32_t& value) {
      return cublasLtMatmulAlgoConfigGetAttribute(&algorithm, attribute, &value, sizeof value, nullptr) ==
             CUBLAS_STATUS_SUCCESS;
    };
    return is_told(a, of_a) && is_told(b, of_b) && of_a == of_b;
  });
}

/// True for a weight gradient on the matrix units: few tiles, and a long sum, over the tokens.
bool may_be_cut_in_parts(const Gemm& gemm) {
  return gemm.transpose_a && element_bytes(gemm.dtype) == 2;
}

/// True if a trial of algorithms is worthwhile, and the bits of the product show differences. In a result
/// that is rounded to 16 bits, one in some thousands of elements shows that its sum was different.
bool is_to_be_tried(const Gemm& gemm) {
  constexpr double kFewestFlops = 1e7;
  constexpr int64_t kFewestElements = int64_t{1} << 10, kFewestRounded = int64_t{1} << 20;
  const double flops =
      2.0 * static_cast<double>(gemm.m) * static_cast<double>(gemm.n) * static_cast<double>(gemm.k);
  const bool rounded = element_bytes(result_type(gemm)) == 2;
  return flops >= kFewestFlops && gemm.m * gemm.n >= (rounded ? kFewestRounded : kFewestElements) &&
         gemm.c != gemm.a && gemm.c != gemm.b && gemm.c != gemm.before;
}

/// Sets every row of C to the bias, or to 0 if there is none. A block takes a chunk of a row.
template <class S, class R>
__global__ void fill_rows_kernel(RowChunks chunks, const S* bias, R* c, int64_t ldc) {
  const int64_t chunk = blockIdx.x, row = chunks.row(chunk);
  for (int64_t col = chunks.begin(chunk) + threadIdx.x; col < chunks.end(chunk); col += blockDim.x)
    c[row * ldc + col] = narrow<R>(bias == nullptr ? Computed<R>(0) : Computed<R>(widen(bias[col])));
}

void fill_rows(const Operation& operation, const Gemm& gemm) {
  constexpr int kThreads = 256;
  const RowChunks chunks{gemm.m, gemm.n, 4 * kThreads};
  with_element_type(gemm.dtype, "a GEMM", [&](auto zero) {
    using S = decltype(zero);
    const auto fill = [&](auto result) {
      using R = decltype(result);
      operation.launch(fill_rows_kernel<S, R>, chunks.count(), kThreads, 0, chunks,
                       static_cast<const S*>(gemm.bias), static_cast<R*>(gemm.c), gemm.ldc);
    };
    if constexpr (kIsHalf<S>) {
      if (gemm.wide_result) return fill(float{});
    }
    fill(S{});
  });
}

template <class Handle, cublasStatus_t (*destroy)(Handle)>
struct Owned {
  Handle handle = nullptr;
  Owned() = default;
  ~Owned() {
    if (handle != nullptr) destroy(handle);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
};
using Description = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using MatrixLayout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

}  // namespace

void check_blas(const std::string& operation, const char* call, cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw run_error(operation + " on the GPU: " + call + " failed with " + cublasLtGetStatusName(status) +
                    ": " + cublasLtGetStatusString(status));
}

struct Products::Plan {
  Description product;
  MatrixLayout left, right, result;
  /// The first algorithm, and those that may replace it after a trial.
  cublasLtMatmulAlgo_t algorithms[AlgorithmTrial::kMostAlgorithms] = {};
  int count = 0;
  int chosen = 0;
  int trials_left = kMostTrials;
  std::shared_ptr<AlgorithmTrial> trial;  ///< running; null: none
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;

  /// Takes the result of the trial, if it is done.
  void take_fastest(const Operation& operation) {
    if (trial == nullptr || !trial->is_done(operation)) return;
    if (const std::optional<int> fastest = trial->fastest(operation)) {
      chosen = *fastest;
      trials_left = 0;
    }
    trial = nullptr;
  }
};

Products::Products(bool tf32, int64_t multiprocessors) : tf32_(tf32), multiprocessors_(multiprocessors) {
  check_blas("matrix products", "cublasLtCreate", cublasLtCreate(&handle_));
  try {
    while (trials_.size() < kTrialsAtATime) trials_.push_back(std::make_shared<AlgorithmTrial>());
  } catch (...) {
    cublasLtDestroy(handle_);
    throw;
  }
}

Products::~Products() {
  plans_.clear();
  cublasLtDestroy(handle_);
}

/// True if the library can do Gemm::after. Its GeLU is the tanh form, precise enough for 16 bits or TF32
/// (engine/planner/fusion.h). It needs rows of H at multiples of 8 elements, and all addresses at multiples
/// of 16 bytes.
bool Products::has_after(const Gemm& gemm) const {
  const bool coarse = element_bytes(gemm.dtype) == 2 || (gemm.dtype == DType::Fp32 && tf32_);
  constexpr int64_t kRowStep = 8;
  constexpr uint32_t kVectorBytes = 16;
  return coarse && gemm.form == Activation::GeluTanh && !gemm.wide_result && !gemm.accumulate &&
         gemm.ldc % kRowStep == 0 && alignment(gemm.before) >= kVectorBytes &&
         alignment(gemm.c) >= kVectorBytes && (gemm.bias == nullptr || asks_for_epilogue(gemm));
}

std::unique_ptr<Products::Plan> Products::make_plan(const Operation& operation, const Gemm& gemm,
                                                    cublasLtEpilogue_t epilogue) const {
  const std::string what = describe(gemm);
  const auto set = [&](cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t attribute,
                       const auto& value) {
    check_blas(what, "cublasLtMatmulDescSetAttribute",
               cublasLtMatmulDescSetAttribute(description, attribute, &value, sizeof value));
  };
  const auto lay_out = [&](MatrixLayout& layout, cudaDataType_t type, int64_t rows, int64_t cols,
                           int64_t stride) {
    check_blas(what, "cublasLtMatrixLayoutCreate",
               cublasLtMatrixLayoutCreate(&layout.handle, type, static_cast<uint64_t>(rows),
                                          static_cast<uint64_t>(cols), stride));
  };
  auto plan = std::make_unique<Plan>();
  plan->epilogue = epilogue;
  const cudaDataType_t type = data_type(gemm.dtype), result = data_type(result_type(gemm));
  const bool wide = gemm.dtype == DType::Fp64;
  const bool fast = tf32_ && gemm.dtype == DType::Fp32;
  check_blas(what, "cublasLtMatmulDescCreate",
             cublasLtMatmulDescCreate(&plan->product.handle,
                                      wide   ? CUBLAS_COMPUTE_64F
                                      : fast ? CUBLAS_COMPUTE_32F_FAST_TF32
                                             : CUBLAS_COMPUTE_32F,
                                      wide ? CUDA_R_64F : CUDA_R_32F));
  // The library's first matrix is our B, its second our A.
  set(plan->product.handle, CUBLASLT_MATMUL_DESC_TRANSA, gemm.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(plan->product.handle, CUBLASLT_MATMUL_DESC_TRANSB, gemm.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  if (epilogue != CUBLASLT_EPILOGUE_DEFAULT)
    set(plan->product.handle, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
  if (reads_bias(epilogue)) {
    set(plan->product.handle, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type);
    set(plan->product.handle, CUBLASLT_MATMUL_DESC_BIAS_POINTER, gemm.bias);
  }
  if (writes_sums(epilogue)) {
    set(plan->product.handle, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, result);
    set(plan->product.handle, CUBLASLT_MATMUL_DESC_BIAS_POINTER, gemm.sums.db);
  }
  if (has_before(epilogue)) {
    set(plan->product.handle, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, gemm.before);
    set(plan->product.handle, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, gemm.ldc);
  }
  // Row-major [rows, cols] is column-major [cols, rows].
  lay_out(plan->left, type, gemm.transpose_b ? gemm.k : gemm.n, gemm.transpose_b ? gemm.n : gemm.k, gemm.ldb);
  lay_out(plan->right, type, gemm.transpose_a ? gemm.m : gemm.k, gemm.transpose_a ? gemm.k : gemm.m,
          gemm.lda);
  lay_out(plan->result, result, gemm.n, gemm.m, gemm.ldc);

  Preference preference;
  check_blas(what, "cublasLtMatmulPreferenceCreate", cublasLtMatmulPreferenceCreate(&preference.handle));
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    check_blas(what, "cublasLtMatmulPreferenceSetAttribute",
               cublasLtMatmulPreferenceSetAttribute(preference.handle, attribute, &value, sizeof value));
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, operation.scratch_bytes());
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment(gemm.b));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment(gemm.a));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment(gemm.c));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment(gemm.c));
  cublasLtMatmulHeuristicResult_t choices[AlgorithmTrial::kMostAlgorithms] = {};
  int found = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      handle_, plan->product.handle, plan->left.handle, plan->right.handle, plan->result.handle,
      plan->result.handle, preference.handle, AlgorithmTrial::kMostAlgorithms, choices, &found);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || is_refusal(status, epilogue)) return nullptr;
  check_blas(what, "cublasLtMatmulAlgoGetHeuristic", status);
  if (found == 0 || choices[0].state != CUBLAS_STATUS_SUCCESS) return nullptr;
  int first = 0;
  if (may_be_cut_in_parts(gemm)) {
    std::vector<std::optional<ProductCut>> cuts;
    for (int i = 0; i < found; ++i)
      cuts.push_back(choices[i].state == CUBLAS_STATUS_SUCCESS ? cut_of(choices[i].algo) : std::nullopt);
    first = static_cast<int>(TiledProduct{gemm.n, gemm.m, gemm.k, multiprocessors_}.choice(cuts));
  }
  const std::optional<Numerics> numerics = numerics_of(choices[first].algo);
  plan->algorithms[plan->count++] = choices[first].algo;
  for (int i = 0; i < found; ++i)
    if (i != first && choices[i].state == CUBLAS_STATUS_SUCCESS && numerics &&
        numerics_of(choices[i].algo) == numerics)
      plan->algorithms[plan->count++] = choices[i].algo;
  if (plan->count == 1) plan->trials_left = 0;
  return plan;
}

std::unique_ptr<Products::Plan>& Products::plan(const Operation& operation, const Gemm& gemm,
                                                cublasLtEpilogue_t epilogue) {
  const Key key{gemm.dtype,
                gemm.transpose_a,
                gemm.transpose_b,
                gemm.m,
                gemm.n,
                gemm.k,
                gemm.lda,
                gemm.ldb,
                gemm.ldc,
                gemm.wide_result,
                epilogue,
                alignment(gemm.a),
                alignment(gemm.b),
                alignment(gemm.c),
                has_before(epilogue) ? alignment(gemm.before) : 0};
  auto kept = plans_.find(key);
  if (kept == plans_.end()) {
    kept = plans_.emplace(key, make_plan(operation, gemm, epilogue)).first;
    // The sums are a pass less, but not for a slower product. Which one is the fastest with them is not
    // measured: times would differ from rank to rank, and the sums' bits with them.
    if (writes_sums(epilogue) && kept->second != nullptr) {
      const std::unique_ptr<Plan>& without = plan(operation, gemm, CUBLASLT_EPILOGUE_DEFAULT);
      if (without == nullptr || !is_same_kernel(kept->second->algorithms[0], without->algorithms[0]))
        kept->second = nullptr;
    }
  }
  return kept->second;
}

void Products::try_others(const Operation& operation, const Gemm& gemm, Plan& plan,
                          const std::function<cublasStatus_t(int)>& run) {
  if (plan.trials_left == 0 || plan.trial != nullptr || !is_to_be_tried(gemm)) return;
  cudaStreamCaptureStatus captured = cudaStreamCaptureStatusNone;
  operation.check("cudaStreamIsCapturing", cudaStreamIsCapturing(operation.stream(), &captured));
  if (captured != cudaStreamCaptureStatusNone) return;  // a trial would be part of every replay
  const auto free_one = [&] {
    return std::find_if(trials_.begin(), trials_.end(), [&](const auto& trial) {
      return trial.use_count() == 1 && trial->is_done(operation);
    });
  };
  auto free = free_one();
  if (free == trials_.end()) {
    for (const auto& [key, other] : plans_)
      if (other != nullptr) other->take_fastest(operation);
    free = free_one();
  }
  if (free == trials_.end()) return;
  const int64_t a_rows = gemm.transpose_a ? gemm.k : gemm.m, a_cols = gemm.transpose_a ? gemm.m : gemm.k;
  const int64_t b_rows = gemm.transpose_b ? gemm.n : gemm.k, b_cols = gemm.transpose_b ? gemm.k : gemm.n;
  std::vector<MatrixOnGpu> results{{result_type(gemm), gemm.m, gemm.n, gemm.ldc, gemm.c}};
  if (writes_sums(plan.epilogue)) results.push_back({result_type(gemm), 1, gemm.n, gemm.n, gemm.sums.db});
  if (writes_before(plan.epilogue)) results.push_back({gemm.dtype, gemm.m, gemm.n, gemm.ldc, gemm.before});
  --plan.trials_left;
  plan.trial = *free;
  plan.trial->ask(
      operation,
      {{gemm.dtype, a_rows, a_cols, gemm.lda, gemm.a}, {gemm.dtype, b_rows, b_cols, gemm.ldb, gemm.b}},
      results, plan.count, run);
  check_blas(describe(gemm), "cublasLtMatmul", run(plan.chosen));
}

bool Products::multiply(const Operation& operation, const Gemm& gemm) {
  if (gemm.after != AfterProduct::Nothing && !has_after(gemm)) return false;
  const cublasLtEpilogue_t epilogue = epilogue_of(gemm);
  const bool with_sums = gemm.after == AfterProduct::Nothing && gemm.sums.db != nullptr;
  if (with_sums && !writes_sums(epilogue)) return false;
  std::unique_ptr<Plan>* kept = &plan(operation, gemm, epilogue);
  if (*kept == nullptr && (with_sums || gemm.after != AfterProduct::Nothing)) return false;
  if (*kept == nullptr && epilogue != CUBLASLT_EPILOGUE_DEFAULT)
    kept = &plan(operation, gemm, CUBLASLT_EPILOGUE_DEFAULT);
  const std::string what = describe(gemm);
  if (*kept == nullptr)
    throw run_error(what +
                    " on the GPU: cuBLASLt has no algorithm for it; choose a hidden size, heads and a "
                    "vocabulary that are multiples of 8, or another dtype");
  Plan& plan = **kept;
  const auto point = [&](cublasLtMatmulDescAttributes_t attribute, const void* address) {
    check_blas(what, "cublasLtMatmulDescSetAttribute",
               cublasLtMatmulDescSetAttribute(plan.product.handle, attribute, &address, sizeof address));
  };
  if (reads_bias(plan.epilogue)) point(CUBLASLT_MATMUL_DESC_BIAS_POINTER, gemm.bias);
  if (writes_sums(plan.epilogue)) point(CUBLASLT_MATMUL_DESC_BIAS_POINTER, gemm.sums.db);
  if (has_before(plan.epilogue)) point(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, gemm.before);
  const bool starts_from_bias = gemm.bias != nullptr && !reads_bias(plan.epilogue);
  if (starts_from_bias) fill_rows(operation, gemm);
  const bool adds = gemm.accumulate || starts_from_bias;
  const double one = 1, zero = 0;
  const float one_float = 1, zero_float = 0;
  const bool wide = gemm.dtype == DType::Fp64;
  const void* alpha = wide ? static_cast<const void*>(&one) : &one_float;
  const void* beta = wide ? static_cast<const void*>(adds ? &one : &zero) : (adds ? &one_float : &zero_float);
  const auto run = [&](int algorithm) {
    return cublasLtMatmul(handle_, plan.product.handle, alpha, gemm.b, plan.left.handle, gemm.a,
                          plan.right.handle, beta, gemm.c, plan.result.handle, gemm.c, plan.result.handle,
                          &plan.algorithms[algorithm], operation.scratch<void>(), operation.scratch_bytes(),
                          operation.stream());
  };
  plan.take_fastest(operation);
  const cublasStatus_t status = run(adds ? 0 : plan.chosen);
  if (is_refusal(status, plan.epilogue)) {
    kept->reset();  // the heuristic was wrong
    return multiply(operation, gemm);
  }
  check_blas(what, "cublasLtMatmul", status);
  if (!adds) try_others(operation, gemm, plan, run);
  return true;
}

void CudaDevice::gemm(const Gemm& gemm) {
  if (suits_token_product(gemm)) return token_product({.product = gemm});
  const Operation operation(*this, "a GEMM");
  if (gemm.after != AfterProduct::Nothing || gemm.sums.db != nullptr) {
    const bool empty = gemm.m == 0 || gemm.n == 0 || gemm.k == 0;
    if (empty || !products_->multiply(operation, gemm)) return product_and_pass(*this, gemm);
    // Not DGELU_BGRAD: it would store the sums in C's type, not wide.
    if (gemm.after == AfterProduct::GeluGrad && gemm.sums.db != nullptr)
      bias_grad(gemm.dtype, gemm.m, gemm.n, gemm.c, gemm.sums.db, gemm.sums.accumulate);
    return;
  }
  if (gemm.m == 0 || gemm.n == 0) return;
  if (gemm.k > 0)
    products_->multiply(operation, gemm);
  else if (!gemm.accumulate)
    fill_rows(operation, gemm);  // a sum over nothing is the bias, or 0
}

}  // namespace shardlens::cuda
