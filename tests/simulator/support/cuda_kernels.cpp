//===- cuda_kernels.cpp - launches of cuda/kernels.cu ---------------------===//
#include "tests/simulator/support/cuda_kernels.h"

#include <algorithm>
#include <numeric>

namespace lockstitch::simtest {

namespace {

template <class T> std::vector<uint8_t> bytesOf(const std::vector<T> &values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<float> softmaxRows(const std::vector<float> &x, size_t n) {
  std::vector<float> y(x.size());
  for (size_t r = 0; r < x.size() / n; ++r) {
    double m = *std::max_element(x.begin() + (long)(r * n),
                                 x.begin() + (long)((r + 1) * n));
    double sum = 0;
    for (size_t i = 0; i < n; ++i)
      sum += std::exp(x[r * n + i] - m);
    for (size_t i = 0; i < n; ++i)
      y[r * n + i] = (float)(std::exp(x[r * n + i] - m) / sum);
  }
  return y;
}

std::vector<float> normalizedRows(const std::vector<float> &x, size_t n,
                                  double epsilon) {
  std::vector<float> y(x.size());
  for (size_t r = 0; r < x.size() / n; ++r) {
    double mean = 0, var = 0;
    for (size_t i = 0; i < n; ++i)
      mean += x[r * n + i];
    mean /= (double)n;
    for (size_t i = 0; i < n; ++i)
      var += (x[r * n + i] - mean) * (x[r * n + i] - mean);
    double scale = 1 / std::sqrt(var / (double)n + epsilon);
    for (size_t i = 0; i < n; ++i)
      y[r * n + i] = (float)((x[r * n + i] - mean) * scale);
  }
  return y;
}

std::vector<uint16_t> halves(const std::vector<float> &x, bool bfloat) {
  std::vector<uint16_t> out(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    out[i] = bfloat ? bfloatBits(x[i]) : halfBits(x[i]);
  return out;
}

/// To the nearest f16 or bf16; good enough for an expected value with a
/// tolerance.
std::vector<uint16_t> roundedHalves(const std::vector<float> &x, bool bfloat) {
  std::vector<uint16_t> out(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    float f = x[i];
    if (f == 0)
      continue;
    int e;
    std::frexp(f, &e);
    int bits = bfloat ? 8 : 11;
    int unit = std::max(e - bits, bfloat ? -133 : -24);
    f = std::ldexp(std::nearbyint(std::ldexp(f, -unit)), unit);
    if (!bfloat && std::fabs(f) < std::ldexp(1.0f, -14))
      out[i] =
          (uint16_t)((f < 0 ? 0x8000 : 0) | (int)std::ldexp(std::fabs(f), 24));
    else
      out[i] = bfloat ? bfloatBits(f) : halfBits(f);
  }
  return out;
}

class List {
public:
  std::vector<CudaKernel> kernels;
  Setup &add(const char *name, uint32_t grid, uint32_t block) {
    kernels.push_back({Setup(name, grid, block), {}});
    return kernels.back().setup;
  }
  template <class T> void gives(const std::vector<T> &values) {
    kernels.back().expected.push_back(bytesOf(values));
  }
};

void softmaxes(List &l) {
  {
    size_t n = 100, rows = 5;
    auto x = numbers(rows * n, 1);
    Setup &s = l.add("softmax_shared", (uint32_t)rows, 128);
    s.constant("x", x).out<float>("y", x.size()).as('f', 3e-6);
    s.scalar((int)n);
    s.shared = 128 * 4;
    l.gives(softmaxRows(x, n));
  }
  {
    size_t n = 70, rows = 9;
    auto x = numbers(rows * n, 2, 8);
    l.add("softmax_warp", 3, 128)
        .constant("x", x)
        .out<float>("y", x.size())
        .as('f', 3e-6)
        .scalar((int)rows)
        .scalar((int)n);
    l.gives(softmaxRows(x, n));
  }
  {
    size_t n = 1024, rows = 8;
    auto x = numbers(rows * n, 3);
    for (size_t r = 0; r < rows; ++r) // a maximum in every warp
      x[r * n + 128 * r + 17] = 5;
    Setup &s = l.add("softmax_vector", (uint32_t)rows, 256);
    s.constant("x", x).out<float>("y", x.size()).as('f', 3e-6);
    l.gives(softmaxRows(x, n));
  }
  {
    size_t n = 900, rows = 3;
    auto x = numbers(rows * n, 4);
    l.add("softmax_half", (uint32_t)rows, 320)
        .constant("x", halves(x, false))
        .out<uint16_t>("y", x.size())
        .as('h', 1e-3)
        .scalar((int)n / 2);
    l.gives(roundedHalves(softmaxRows(x, n), false));
  }
}

void reductions(List &l) {
  {
    std::vector<int> x(5000);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = (int)(i * 2654435761u >> 12) - 500000;
    std::vector<int> y(4);
    for (size_t i = 0; i < x.size(); ++i)
      y[i % 1024 / 256] += x[i];
    l.add("reduce_shared", 4, 256)
        .constant("x", x)
        .out<int>("y", 4)
        .scalar((int)x.size());
    l.gives(y);
  }
  {
    auto x = numbers(3000, 5);
    double sum = std::accumulate(x.begin(), x.end(), 0.0);
    l.add("reduce_atomic", 4, 128)
        .constant("x", x)
        .inout("y", std::vector<float>{0})
        .as('f', 1e-5)
        .scalar((int)x.size());
    l.gives(std::vector<float>{(float)sum});
  }
  {
    std::vector<unsigned> x(512);
    unsigned sum = 0, top = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = (unsigned)i * 2654435761u;
      sum += x[i];
      top = std::max(top, x[i]);
    }
    l.add("reduce_redux", 4, 128)
        .constant("x", x)
        .inout("y", std::vector<unsigned>{0, 0});
    l.gives(std::vector<unsigned>{sum, top});
  }
  {
    auto x = numbers(4000, 6);
    double sum = std::accumulate(x.begin(), x.end(), 0.0);
    l.add("reduce_last_block", 6, 224)
        .constant("x", x)
        .scalar((unsigned)x.size())
        .out<float>("partial", 6)
        .out<float>("y", 1)
        .as('f', 1e-5);
    // The partial sums are the kernel's own business.
    l.kernels.back().setup.arguments[2].isOutput = false;
    l.gives(std::vector<float>{(float)sum});
  }
  {
    auto x = numbers(4000, 7);
    for (float &v : x)
      v = std::fabs(v) + 1;
    double sum = std::accumulate(x.begin(), x.end(), 0.0);
    std::vector<float> y(x.size());
    for (size_t i = 0; i < x.size(); ++i)
      y[i] = (float)(x[i] / sum);
    Setup &s = l.add("reduce_grid_sync", 6, 224);
    s.constant("x", x)
        .out<float>("partial", 6)
        .out<float>("y", x.size())
        .as('f', 1e-5)
        .scalar((int)x.size());
    s.arguments[1].isOutput = false;
    s.cooperative = true;
    l.gives(y);
  }
}

void norms(List &l) {
  {
    size_t n = 500, rows = 4;
    auto x = numbers(rows * n, 8), gamma = numbers(n, 9), beta = numbers(n, 10);
    auto y = normalizedRows(x, n, 1e-5);
    for (size_t i = 0; i < y.size(); ++i)
      y[i] = y[i] * gamma[i % n] + beta[i % n];
    l.add("layer_norm", (uint32_t)rows, 320)
        .constant("x", x)
        .constant("gamma", gamma)
        .constant("beta", beta)
        .out<float>("y", x.size())
        .as('f', 3e-6)
        .scalar((int)n)
        .scalar(1e-5f);
    l.gives(y);
  }
  {
    size_t n = 128, rows = 4;
    auto x = numbers(rows * n, 11, 1); // 1/64 steps in [-1, 1): exact in bf16
    l.add("layer_norm_bf16", (uint32_t)rows, 32)
        .constant("x", halves(x, true))
        .out<uint16_t>("y", x.size())
        .as('b', 4e-3)
        .scalar((int)n / 2);
    l.gives(roundedHalves(normalizedRows(x, n, 1e-5), true));
  }
}

void transposes(List &l) {
  size_t rows = 45, cols = 70;
  auto x = numbers(rows * cols, 12);
  std::vector<float> y(x.size());
  for (size_t r = 0; r < rows; ++r)
    for (size_t c = 0; c < cols; ++c)
      y[c * rows + r] = x[r * cols + c];
  for (const char *name :
       {"transpose_naive", "transpose_tiled", "transpose_padded"}) {
    Setup &s = l.add(name, 3, 32);
    s.constant("x", x).out<float>("y", x.size());
    s.scalar((int)rows).scalar((int)cols);
    s.block[1] = 8;
    s.grid[1] = name == std::string("transpose_naive") ? 6 : 2;
    l.gives(y);
  }
}

void histograms(List &l) {
  std::vector<uint8_t> x(3000);
  std::vector<unsigned> bins(64), zero(64);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = (uint8_t)((i * 2654435761u >> 13) % 251);
    ++bins[x[i] / 4];
  }
  l.add("histogram", 4, 96)
      .constant("x", x)
      .inout("bins", zero)
      .scalar((int)x.size());
  l.gives(bins);
  l.add("histogram_match", 24, 128)
      .constant("x", x)
      .inout("bins", zero)
      .scalar((int)x.size());
  l.gives(bins);
}

void products(List &l) {
  {
    size_t k = 48;
    auto a = numbers(16 * k, 13), b = numbers(8 * k, 14);
    std::vector<float> c(16 * 8);
    for (size_t i = 0; i < 16; ++i)
      for (size_t j = 0; j < 8; ++j) {
        double sum = 0;
        for (size_t q = 0; q < k; ++q)
          sum += (double)a[i * k + q] * b[j * k + q];
        c[i * 8 + j] = (float)sum;
      }
    l.add("product_mma", 1, 32)
        .constant("a", halves(a, false))
        .constant("b", halves(b, false))
        .out<float>("c", c.size())
        .as('f', 1e-6)
        .scalar((int)k);
    l.gives(c);
  }
  {
    size_t n = 48;
    auto a = numbers(n * n, 15), b = numbers(n * n, 16);
    std::vector<float> c(n * n);
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j < n; ++j) {
        double sum = 0;
        for (size_t q = 0; q < n; ++q)
          sum += (double)a[i * n + q] * b[q * n + j];
        c[i * n + j] = (float)sum;
      }
    Setup &s = l.add("product_async", 3, 16);
    s.constant("a", a).constant("b", b).out<float>("c", c.size()).as('f', 1e-6);
    s.scalar((int)n);
    s.block[1] = 16;
    s.grid[1] = 3;
    l.gives(c);
  }
}

void others(List &l) {
  {
    int n = 75;
    std::vector<int> steps((size_t)n);
    std::vector<double> product((size_t)n);
    auto collatz = [](unsigned v, int &k) {
      double p = 1;
      for (k = 0; v != 1 && k < 200; ++k) {
        v = v % 2 ? 3 * v + 1 : v / 2;
        p = p * 0.5 + v;
      }
      return p;
    };
    for (int i = 0; i < n; ++i) {
      int local[4];
      for (int k = 0; k < 4; ++k) {
        int s;
        product[(size_t)i] = collatz((unsigned)(i + 1 + k), s);
        local[(i + k) % 4] = s;
      }
      steps[(size_t)i] = local[0] + 3 * local[1] + 5 * local[2] + 7 * local[3];
    }
    l.add("divergent", 2, 64)
        .out<int>("steps", (size_t)n)
        .out<double>("product", (size_t)n)
        .as('d', 1e-15)
        .scalar(n);
    l.gives(steps);
    l.gives(product);
  }
  {
    size_t n = 200;
    auto x = numbers(n, 17, 6);
    std::vector<float> y(8 * n);
    for (size_t i = 0; i < n; ++i) {
      double v = x[i];
      y[i] = (float)std::exp(v);
      y[i + n] = (float)std::tanh(v);
      y[i + 2 * n] = (float)std::erf(v);
      y[i + 3 * n] = (float)std::sin(v);
      y[i + 4 * n] = (float)std::log1p(std::fabs(v));
      y[i + 5 * n] = (float)std::pow(std::fabs(v) + 0.5, 1.25);
      y[i + 6 * n] = (float)(v / (1 + std::exp(-v)));
      y[i + 7 * n] = (float)std::cbrt(v);
    }
    // Relative to the largest value (exp(6) = 403): 2e-8 is 1e-5 of the small
    // ones and two units of the last place of exp.
    l.add("elementary", 2, 128)
        .constant("x", x)
        .out<float>("y", y.size())
        .as('f', 2.5e-7)
        .scalar((int)n);
    l.gives(y);
  }
}

} // namespace

std::vector<CudaKernel> cudaKernels() {
  List l;
  softmaxes(l);
  reductions(l);
  norms(l);
  transposes(l);
  histograms(l);
  products(l);
  others(l);
  return std::move(l.kernels);
}

} // namespace lockstitch::simtest
