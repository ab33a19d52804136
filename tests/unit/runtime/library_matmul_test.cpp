#include "tests/unit/runtime/library_reference.h"
#include "tests/unit/runtime/test_programs.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <random>

using namespace lockstitch;
using namespace lockstitch::testing;

namespace {

constexpr ElementType kTypes[] = {
    ElementType::F32, ElementType::F64, ElementType::F16, ElementType::BF16,
    ElementType::I8,  ElementType::U8,  ElementType::I16, ElementType::U16,
    ElementType::I32, ElementType::U32, ElementType::I64, ElementType::U64};

/// A dense batch x m x k times batch x k x n.
LibraryCall dense(ElementType type, std::vector<int64_t> batch, int64_t m,
                  int64_t n, int64_t k) {
  LibraryCall call;
  call.matmul.type = type;
  call.matmul.batch = batch;
  call.matmul.m = m;
  call.matmul.n = n;
  call.matmul.k = k;
  auto view = [&](int64_t rows, int64_t columns) {
    StridedView view;
    view.strides.resize(batch.size() + 2);
    view.strides[batch.size() + 1] = 1;
    view.strides[batch.size()] = columns;
    int64_t stride = rows * columns;
    for (size_t i = batch.size(); i-- > 0;) {
      view.strides[i] = stride;
      stride *= batch[i];
    }
    return view;
  };
  call.matmul.a = view(m, k);
  call.matmul.b = view(k, n);
  call.matmul.c = view(m, n);
  call.matmul.result = view(m, n);
  return call;
}

/// Makes a view of the same logical matrix whose columns lie together.
void transpose(StridedView &view, int64_t rows) {
  size_t row = view.strides.size() - 2;
  view.strides[row] = 1;
  view.strides[row + 1] = rows;
}

TEST(LibraryMatMul, AllTypesAtOddSizes) {
  uint32_t seed = 1;
  for (ElementType type : kTypes)
    for (auto [m, n, k] : {std::array<int64_t, 3>{1, 1, 1},
                           {3, 5, 7},
                           {1, 33, 31},
                           {31, 1, 33},
                           {17, 16, 1},
                           {64, 48, 65}})
      checkEverywhere(dense(type, {}, m, n, k), ++seed);
}

TEST(LibraryMatMul, EmptySizes) {
  for (ElementType type :
       {ElementType::F32, ElementType::F16, ElementType::I32}) {
    checkEverywhere(dense(type, {}, 3, 4, 0), 1); // all zeros
    checkEverywhere(dense(type, {}, 0, 4, 2), 1);
    checkEverywhere(dense(type, {}, 3, 0, 2), 1);
    checkEverywhere(dense(type, {0}, 3, 4, 2), 1);
    LibraryCall call = dense(type, {}, 3, 4, 0); // beta * c alone
    call.matmul.hasC = true;
    call.matmul.beta = 2;
    checkEverywhere(call, 1);
  }
}

TEST(LibraryMatMul, LargerThanOneTile) {
  checkEverywhere(dense(ElementType::F32, {}, 400, 190, 130), 1);
  checkEverywhere(dense(ElementType::F32, {}, 1, 1000, 5000), 2);
  checkEverywhere(dense(ElementType::F16, {}, 130, 260, 200), 3);
  checkEverywhere(dense(ElementType::F64, {}, 450, 120, 90), 4);
}

TEST(LibraryMatMul, EveryTransposition) {
  for (ElementType type : {ElementType::F32, ElementType::F64, ElementType::F16,
                           ElementType::I8, ElementType::I32})
    for (int which = 0; which < 16; ++which) {
      LibraryCall call = dense(type, {2}, 13, 18, 9);
      if (which & 1)
        transpose(call.matmul.a, 13);
      if (which & 2)
        transpose(call.matmul.b, 9);
      if (which & 4)
        transpose(call.matmul.result, 13);
      call.matmul.hasC = which & 8;
      checkEverywhere(call, which);
    }
}

TEST(LibraryMatMul, TransposedVectors) {
  // One row or one column: strides of that dimension may be anything.
  for (auto [m, n, k] :
       {std::array<int64_t, 3>{1, 9, 6}, {9, 1, 6}, {9, 6, 1}, {1, 1, 6}})
    for (int which = 0; which < 8; ++which) {
      LibraryCall call = dense(ElementType::F32, {}, m, n, k);
      if (which & 1)
        transpose(call.matmul.a, m);
      if (which & 2)
        transpose(call.matmul.b, k);
      if (which & 4)
        transpose(call.matmul.result, m);
      checkEverywhere(call, which);
    }
}

TEST(LibraryMatMul, OffsetsAndGapsBetweenRows) {
  for (ElementType type :
       {ElementType::F32, ElementType::BF16, ElementType::U8}) {
    LibraryCall call = dense(type, {3}, 7, 10, 6);
    call.matmul.a = {5, {200, 11, 1}};
    call.matmul.b = {1, {100, 16, 1}};
    call.matmul.result = {3, {300, 19, 1}};
    checkEverywhere(call, 7);
    call.matmul.a = {5, {200, 13, 2}}; // no stride is 1
    call.matmul.b = {1, {100, 3, 9}};
    call.matmul.result = {3, {300, 31, 3}};
    checkEverywhere(call, 8);
  }
}

TEST(LibraryMatMul, SplitHeadsWithoutACopy) {
  // q, k, v interleaved in one tensor [tokens, 3, heads, width]; scores = q k^T
  // per head, laid out [tokens, heads, tokens].
  int64_t tokens = 10, heads = 3, width = 8, row = 3 * heads * width;
  LibraryCall call = dense(ElementType::F32, {heads}, tokens, tokens, width);
  call.matmul.a = {0, {width, row, 1}};
  call.matmul.b = {heads * width, {width, 1, row}};
  call.matmul.result = {0, {tokens, heads * tokens, 1}};
  checkEverywhere(call, 9);
}

TEST(LibraryMatMul, BroadcastBatches) {
  for (ElementType type :
       {ElementType::F32, ElementType::F16, ElementType::I16}) {
    LibraryCall call = dense(type, {2, 3}, 5, 6, 4);
    call.matmul.b.strides = {0, 0, 6,
                             1}; // one right-hand side: batches become rows
    checkEverywhere(call, 10);
    call.matmul.b.strides = {24, 0, 6, 1};
    checkEverywhere(call, 11);
    call.matmul.b.strides = {0, 24, 6, 1};
    checkEverywhere(call, 12);
    call.matmul.a.strides = {0, 20, 4, 1};
    checkEverywhere(call, 13);
    call.matmul.hasC = true;
    call.matmul.c.strides = {0, 0, 0, 1}; // a bias
    call.matmul.b.strides = {0, 0, 6, 1};
    call.matmul.a = dense(type, {2, 3}, 5, 6, 4).matmul.a;
    checkEverywhere(call, 14);
  }
}

TEST(LibraryMatMul, BroadcastRowsAndColumnsOfOperands) {
  LibraryCall call = dense(ElementType::F32, {}, 5, 6, 4);
  call.matmul.a.strides = {0, 1}; // all rows the same
  checkEverywhere(call, 15);
  call.matmul.b.strides = {1, 0}; // all columns the same
  checkEverywhere(call, 16);
  call.matmul.a.strides = {0, 0};
  checkEverywhere(call, 17);
}

TEST(LibraryMatMul, AlphaBetaAndC) {
  for (ElementType type : kTypes)
    for (auto [alpha, beta] :
         {std::pair<float, float>{1, 1}, {2, -1}, {-3, 0}, {0, 2}}) {
      LibraryCall call = dense(type, {2}, 6, 9, 5);
      call.matmul.alpha = alpha;
      call.matmul.beta = beta;
      call.matmul.hasC = true;
      call.matmul.c.strides = {0, 1, 0}; // a column
      checkEverywhere(call, 18);
      call.matmul.c.strides = {54, 9, 1};
      checkEverywhere(call, 19);
    }
}

TEST(LibraryMatMul, RoundsOnce) {
  // 2048 + 1 + 1 in f16: rounding after each addition would give 2048, once at
  // the end gives 2050.
  LibraryCall call = dense(ElementType::F16, {}, 1, 1, 3);
  Buffer a(ElementType::F16, 3), b(ElementType::F16, 3),
      result(ElementType::F16, 1);
  a.set(0, 2048);
  a.set(1, 1);
  a.set(2, 1);
  for (int i = 0; i < 3; ++i)
    b.set(i, 1);
  auto prepared = prepareLibraryCall(call, "test");
  std::vector<std::byte> scratch((*prepared)->scratchBytes(1) + 64);
  std::byte *args[] = {a.bytes.data(), b.bytes.data(), result.bytes.data()};
  (*prepared)->run(args, scratch.data(), ThreadPool(1));
  EXPECT_EQ(result.at(0), 2050);
}

TEST(LibraryMatMul, ThreadsDoNotChangeABit) {
  for (LibraryOptions::Backend backend :
       {LibraryOptions::Backend::Best, LibraryOptions::Backend::Eigen}) {
    LibraryCall call = dense(ElementType::F32, {}, 333, 517, 301);
    auto prepared = prepareLibraryCall(call, "test", {backend, 4});
    Buffer a(ElementType::F32, 333 * 301), b(ElementType::F32, 301 * 517);
    a.fill(1, true);
    b.fill(2, true);
    std::vector<std::byte> first;
    for (int threads : {1, 2, 3, 7}) {
      Buffer result(ElementType::F32, 333 * 517);
      std::vector<std::byte> scratch((*prepared)->scratchBytes(threads) + 64);
      std::byte *args[] = {a.bytes.data(), b.bytes.data(), result.bytes.data()};
      (*prepared)->run(args, scratch.data(), ThreadPool(threads));
      if (first.empty())
        first = result.bytes;
      EXPECT_TRUE(first == result.bytes) << threads << " threads";
    }
  }
}

TEST(LibraryMatMul, RandomLayouts) {
  std::mt19937 random(5);
  for (int i = 0; i < 150; ++i) {
    auto size = [&](int most) {
      return 1 + static_cast<int64_t>(random() % most);
    };
    std::vector<int64_t> batch(random() % 3);
    for (int64_t &extent : batch)
      extent = size(3);
    LibraryCall call =
        dense(kTypes[random() % 12], batch, size(40), size(40), size(40));
    MatMulCall &m = call.matmul;
    if (random() % 2)
      transpose(m.a, m.m);
    if (random() % 2)
      transpose(m.b, m.k);
    if (random() % 3 == 0)
      transpose(m.result, m.m);
    for (StridedView *view : {&m.a, &m.b, &m.c, &m.result}) {
      view->offset = random() % 3;
      if (random() % 4 == 0)
        for (int64_t &stride : view->strides)
          stride *= 2;
    }
    for (StridedView *view : {&m.a, &m.b, &m.c})
      for (size_t d = 0; d < batch.size(); ++d)
        if (random() % 3 == 0)
          view->strides[d] = 0;
    m.hasC = random() % 2;
    m.alpha = static_cast<float>(random() % 4);
    m.beta = static_cast<float>(random() % 3);
    EXPECT_EQ(checkCall(call, {LibraryOptions::Backend::Best, 4}, 2, i, false),
              "")
        << i;
    EXPECT_EQ(checkCall(call,
                        {LibraryOptions::Backend::Eigen,
                         1 + static_cast<int>(random() % 4)},
                        1, i, false),
              "")
        << i;
  }
}

// --- One test per message ---

std::string refusal(const LibraryCall &call) {
  return text(prepareLibraryCall(call, "step"));
}

TEST(LibraryMatMul, RefusesBool) {
  EXPECT_EQ(
      refusal(dense(ElementType::Bool, {}, 1, 1, 1)),
      "library call step: a product of bool matrices is not a library call");
}

TEST(LibraryMatMul, RefusesContradictions) {
  LibraryCall call = dense(ElementType::F32, {}, 2, 2, 2);
  call.matmul.b.strides.pop_back();
  EXPECT_EQ(refusal(call), "library call step: the product's sizes contradict "
                           "each other or overflow (operand 1)");
}

TEST(LibraryMatMul, RefusesFractionsOfIntegers) {
  LibraryCall call = dense(ElementType::I32, {}, 2, 2, 2);
  call.matmul.alpha = 0.5f;
  EXPECT_EQ(refusal(call), "library call step: a product of integers with a "
                           "factor that is not an integer (0.500000)");
}

TEST(LibraryMatMul, RefusesAResultOverItself) {
  LibraryCall call = dense(ElementType::F32, {3}, 2, 2, 2);
  call.matmul.result.strides[0] = 0;
  EXPECT_EQ(refusal(call),
            "library call step: the product's result has a stride of 0");
}

TEST(LibraryMatMul, RefusesWhatNoMemoryHolds) {
  LibraryCall call =
      dense(ElementType::F32, {}, int64_t{1} << 40, 1, int64_t{1} << 20);
  call.matmul.a.strides = {
      0, 1}; // a broadcast row takes little memory, its packed copy would not
  call.matmul.result.strides = {1, 1};
  EXPECT_EQ(refusal(call), "library call step: the product is too large");
}

TEST(LibraryMatMul, OneDnnTakesNoIntegers) {
  LibraryCall call = dense(ElementType::I32, {}, 2, 2, 2);
  std::optional<std::string> reason =
      libraryRefusal(call, LibraryOptions::Backend::OneDnn);
  ASSERT_TRUE(reason);
  EXPECT_THAT(*reason,
              ::testing::AnyOf("onednn is used for f32, f16 and bf16 only",
                               "onednn was not found when this was built"));
}

TEST(LibraryMatMul, ReluIsAppliedToEveryTileAfterTheAddend) {
  uint32_t seed = 100;
  for (ElementType type : {ElementType::F32, ElementType::F64, ElementType::F16,
                           ElementType::BF16})
    for (bool addend : {false, true})
      for (bool turned : {false, true}) {
        LibraryCall call = dense(type, {3}, 31, 77, 33);
        call.activation = Activation::Relu;
        call.matmul.hasC = addend;
        call.matmul.c.strides = {0, 0, 1};
        if (turned)
          transpose(call.matmul.result, 31);
        checkEverywhere(call, ++seed);
      }
  LibraryCall large = dense(ElementType::F32, {}, 500, 260, 300);
  large.activation = Activation::Relu;
  EXPECT_EQ(checkCall(large, {}, 2, 1, true), "");
}

TEST(LibraryMatMul, ReluKeepsNaNAndMakesZerosPositive) {
  for (ElementType type : {ElementType::F32, ElementType::BF16}) {
    LibraryCall call = dense(type, {}, 2, 2, 1);
    call.activation = Activation::Relu;
    auto prepared = prepareLibraryCall(call, "test");
    ASSERT_TRUE(prepared.ok());
    Buffer a(type, 2), b(type, 2), result(type, 4);
    a.set(0, NAN);
    a.set(1, -0.0);
    b.set(0, 1);
    b.set(1, 2);
    std::byte *args[] = {a.bytes.data(), b.bytes.data(), result.bytes.data()};
    std::vector<std::byte> scratch((*prepared)->scratchBytes(1) + 64);
    auto address = reinterpret_cast<uintptr_t>(scratch.data());
    (*prepared)->run(args, scratch.data() + (64 - address % 64) % 64,
                     ThreadPool(1));
    for (int i : {0, 1})
      EXPECT_TRUE(std::isnan(result.at(i)));
    for (int i : {2, 3}) {
      EXPECT_EQ(result.at(i), 0);
      EXPECT_FALSE(std::signbit(result.at(i)));
    }
  }
}

TEST(LibraryMatMul, AnActivationOfIntegersIsRefused) {
  LibraryCall call = dense(ElementType::I32, {}, 2, 2, 2);
  call.activation = Activation::Relu;
  EXPECT_EQ(libraryRefusal(call).value_or(""),
            "an activation of integers is not part of a library call");
}

} // namespace
