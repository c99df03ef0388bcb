// Runs one operation on any device and compares it with the same operation elsewhere. Operands are doubles
// that the dtype can represent. Each device gets them in its own memory, with the requested layout and
// alignment, and the results are read back. So the same code compares a GPU with the CPU, and the CPU with
// itself in fp64, which shows without a GPU that the comparison can fail.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/device/device.h"
#include "engine/io/half.h"

namespace shardlens {

using Numbers = std::vector<double>;

/// Largest relative error of one rounding to nearest.
inline double unit_of(DType dtype) {
  switch (dtype) {
    case DType::Fp64:
      return 0x1p-53;
    case DType::Fp16:
      return 0x1p-11;
    case DType::Bf16:
      return 0x1p-8;
    default:
      return 0x1p-24;
  }
}

/// What statistics and gradients of weights are held in.
inline DType wide_of(DType dtype) {
  return dtype == DType::Fp64 ? DType::Fp64 : DType::Fp32;
}

inline std::vector<std::byte> encode(DType dtype, const Numbers& values) {
  std::vector<std::byte> bytes(values.size() * static_cast<size_t>(element_bytes(dtype)));
  for (size_t i = 0; i < values.size(); ++i) {
    const auto put = [&](auto value) { std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value); };
    if (dtype == DType::Fp64)
      put(values[i]);
    else if (dtype == DType::Fp32)
      put(static_cast<float>(values[i]));
    else if (dtype == DType::Int32)
      put(static_cast<int32_t>(values[i]));
    else if (dtype == DType::Bf16)
      put(float_to_bfloat(static_cast<float>(values[i])));
    else
      put(float_to_half(static_cast<float>(values[i])));
  }
  return bytes;
}

inline Numbers decode(DType dtype, const std::vector<std::byte>& bytes) {
  Numbers values(bytes.size() / static_cast<size_t>(element_bytes(dtype)));
  for (size_t i = 0; i < values.size(); ++i) {
    const auto get = [&](auto value) {
      std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
      return value;
    };
    if (dtype == DType::Fp64)
      values[i] = get(double{});
    else if (dtype == DType::Fp32)
      values[i] = static_cast<double>(get(float{}));
    else if (dtype == DType::Int32)
      values[i] = get(int32_t{});
    else if (dtype == DType::Bf16)
      values[i] = static_cast<double>(bfloat_to_float(get(uint16_t{})));
    else
      values[i] = static_cast<double>(half_to_float(get(uint16_t{})));
  }
  return values;
}

inline Numbers rounded_to(DType dtype, const Numbers& values) {
  return decode(dtype, encode(dtype, values));
}

/// Normal numbers that `dtype` represents.
inline Numbers normal_in(DType dtype, int64_t count, unsigned seed, double scale = 1, double mean = 0) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> distribution(mean, scale);
  Numbers values(static_cast<size_t>(count));
  for (double& value : values) value = distribution(generator);
  return rounded_to(dtype, values);
}

/// Integers of [-3, 3].
inline Numbers integers(int64_t count, unsigned seed) {
  std::mt19937_64 generator(seed);
  Numbers values(static_cast<size_t>(count));
  for (double& value : values) value = static_cast<double>(generator() % 7) - 3;
  return values;
}

/// What one result was, and what it may be off by: it was stored in `dtype`.
struct Output {
  std::string name;
  DType dtype = DType::Fp32;
  std::vector<std::byte> bytes;

  Numbers numbers() const { return decode(dtype, bytes); }
};
using Outputs = std::vector<Output>;

/// Tensors of one operation in one device's memory. What is to be written holds NaN before, and bytes behind
/// it that must stay.
class OnDevice {
 public:
  /// Tensors begin `shift` elements after an aligned address.
  OnDevice(Device& on, DType computed, int64_t shift) : device(on), dtype(computed), shift_(shift) {}
  ~OnDevice() {
    for (const Memory& memory : memories_) device.release(memory.begin);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

  DType wide() const { return wide_of(dtype); }

  void* put(DType as, const Numbers& values) { return place(as, encode(as, values), ""); }
  void* in(const Numbers& values) { return put(dtype, values); }
  void* in_wide(const Numbers& values) { return put(wide(), values); }
  int32_t* in_ids(const std::vector<int32_t>& ids) {
    return static_cast<int32_t*>(put(DType::Int32, Numbers(ids.begin(), ids.end())));
  }
  double* in_doubles(const Numbers& values) { return static_cast<double*>(put(DType::Fp64, values)); }

  void* out_as(DType as, const std::string& name, int64_t count) {
    return place(as, std::vector<std::byte>(static_cast<size_t>(count * element_bytes(as)), std::byte{0xFF}),
                 name);
  }
  void* out(const std::string& name, int64_t count) { return out_as(dtype, name, count); }
  void* out_wide(const std::string& name, int64_t count) { return out_as(wide(), name, count); }
  /// What is read and written: it is among the results too.
  void* in_out(DType as, const std::string& name, const Numbers& values) {
    return place(as, encode(as, values), name);
  }

  /// All results, once they are there. Throws when something was written behind one of them.
  Outputs results() {
    device.synchronize();
    Outputs outputs;
    for (const Memory& memory : memories_) {
      std::vector<std::byte> all(memory.bytes);
      device.copy_to_host(all.data(), memory.begin, memory.bytes);
      for (size_t i = 0; i < memory.bytes; ++i)
        if ((i < memory.first || i >= memory.first + memory.size) && all[i] != kGuard)
          throw std::runtime_error("bytes beside " + (memory.name.empty() ? "an operand" : memory.name) +
                                   " were written");
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(memory.first);
      if (!memory.name.empty())
        outputs.push_back(
            {memory.name, memory.dtype, {first, first + static_cast<std::ptrdiff_t>(memory.size)}});
    }
    return outputs;
  }

  Device& device;
  const DType dtype;  ///< what the operation computes in

 private:
  struct Memory {
    void* begin;
    size_t bytes, first, size;
    DType dtype;
    std::string name;  // of a result; empty: an operand
  };
  static constexpr std::byte kGuard{0xA5};
  static constexpr size_t kMargin = 64;

  void* place(DType as, const std::vector<std::byte>& data, const std::string& name) {
    const size_t first = kMargin + static_cast<size_t>(shift_ * element_bytes(as));
    const size_t bytes = first + data.size() + kMargin;
    std::vector<std::byte> all(bytes, kGuard);
    std::copy(data.begin(), data.end(), all.begin() + static_cast<std::ptrdiff_t>(first));
    void* begin = device.allocate(bytes);
    memories_.push_back({begin, bytes, first, data.size(), as, name});
    device.copy_to_device(begin, all.data(), bytes);
    return static_cast<std::byte*>(begin) + first;
  }

  const int64_t shift_;
  std::deque<Memory> memories_;
};

/// Puts operands on a device and asks it for an operation.
using Operate = std::function<void(OnDevice&)>;

inline Outputs operate(Device& device, DType dtype, int64_t shift, const Operate& operate) {
  OnDevice on(device, dtype, shift);
  operate(on);
  return on.results();
}

inline bool same(const Outputs& a, const Outputs& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i].bytes != b[i].bytes) return false;
  return true;
}

/// How far a result may be from the same in fp64: a norm's worth of `stored` roundings to its own dtype and
/// `computed` ones in the dtype that is computed in, which grow with a sum's length.
struct Tolerance {
  double computed = 8;
  double stored = 1;
  bool exact = false;    ///< it is the fp64 result, rounded once
  double magnitude = 0;  ///< of what cancels: a result smaller than this may be off as one of this size

  static Tolerance of_sum(int64_t length) {
    return {8 + 2 * std::sqrt(static_cast<double>(length)), 1, false, 0.1};
  }
};

inline ::testing::AssertionResult is_near(const Output& ours, const Output& exact, DType computed,
                                          const Tolerance& tolerance) {
  const Numbers values = ours.numbers(), reference = exact.numbers();
  if (values.size() != reference.size())
    return ::testing::AssertionFailure() << ours.name << " has another size";
  if (tolerance.exact) {
    const std::vector<std::byte> expected = encode(ours.dtype, reference);
    const Numbers wanted = decode(ours.dtype, expected);
    for (size_t i = 0; i < values.size(); ++i)
      if (!(values[i] == wanted[i]) && !(std::isnan(values[i]) && std::isnan(wanted[i])))
        return ::testing::AssertionFailure()
               << ours.name << "[" << i << "] is " << values[i] << ", not " << wanted[i];
    return ::testing::AssertionSuccess();
  }
  double difference = 0, size = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    difference += (values[i] - reference[i]) * (values[i] - reference[i]);
    size += reference[i] * reference[i];
    if (reference[i] == 0 && values[i] != 0 && std::abs(values[i]) > 1e3 * unit_of(computed))
      return ::testing::AssertionFailure()
             << ours.name << "[" << i << "] is " << values[i] << " where 0 is due";
  }
  const double least = tolerance.magnitude * tolerance.magnitude * static_cast<double>(values.size());
  const double norm = std::max(size, least);
  const double error = norm > 0 ? std::sqrt(difference / norm) : std::sqrt(difference);
  const double bound =
      tolerance.stored * unit_of(ours.dtype) + tolerance.computed * unit_of(wide_of(computed));
  if (!(error <= bound))  // a NaN is near nothing
    return ::testing::AssertionFailure() << ours.name << " is off by " << error << ", more than " << bound;
  return ::testing::AssertionSuccess();
}

/// A device that is put to the test. `as_one_thread`: it owes the bits of the CPU device with one thread.
struct Subject {
  std::string name;
  std::function<std::unique_ptr<Device>()> make;  ///< null when there is none here
  bool as_one_thread = false;

  friend void PrintTo(const Subject& subject, std::ostream* out) { *out << subject.name; }
};

/// The operation in `dtype` on the device, twice and to the same bits, against the CPU in fp64 on the same
/// numbers, aligned and not.
inline ::testing::AssertionResult agrees(Device& device, bool as_one_thread, DType dtype,
                                         const Tolerance& tolerance, const Operate& operation) {
  const auto cpu = make_cpu_device(1);
  const Outputs exact = operate(*cpu, DType::Fp64, 0, operation);
  for (const int64_t shift : {0, 1}) {
    Outputs ours, again;
    try {
      ours = operate(device, dtype, shift, operation);
      again = operate(device, dtype, shift, operation);
    } catch (const std::exception& error) {
      return ::testing::AssertionFailure() << to_string(dtype) << ", " << shift << " off: " << error.what();
    }
    if (!same(ours, again))
      return ::testing::AssertionFailure()
             << to_string(dtype) << ", " << shift << " off: other bits the second time";
    if (as_one_thread && !same(ours, operate(*cpu, dtype, shift, operation)))
      return ::testing::AssertionFailure() << to_string(dtype) << ": other bits than with one thread";
    if (ours.size() != exact.size()) return ::testing::AssertionFailure() << "not the same results";
    for (size_t i = 0; i < ours.size(); ++i) {
      const auto near = is_near(ours[i], exact[i], dtype, tolerance);
      if (!near)
        return ::testing::AssertionFailure()
               << to_string(dtype) << ", " << shift << " off: " << near.message();
    }
  }
  return ::testing::AssertionSuccess();
}

}  // namespace shardlens
