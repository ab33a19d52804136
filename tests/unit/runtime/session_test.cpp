#include "runtime/session/session.h"
#include "tests/unit/runtime/test_programs.h"

#include <gmock/gmock.h>

#include <cstring>
#include <thread>

using namespace lockstitch;
using namespace lockstitch::testing;
using ::testing::HasSubstr;

namespace {

std::shared_ptr<const Session>
open(Program program,
     SessionOptions options = {.device = DeviceKind::Host, .threads = 2}) {
  auto session = Session::create(
      std::make_shared<const Program>(std::move(program)), options);
  EXPECT_TRUE(session.ok()) << text(session);
  return session.ok() ? *session : nullptr;
}

std::string whyNot(Program program,
                   SessionOptions options = {.device = DeviceKind::Host,
                                             .threads = 1}) {
  return text(Session::create(
      std::make_shared<const Program>(std::move(program)), options));
}

/// Memory whose address is `offset` bytes past a multiple of 64.
struct Unaligned {
  explicit Unaligned(size_t bytes, size_t offset) : memory(bytes + 128) {
    auto address = reinterpret_cast<uintptr_t>(memory.data());
    data = memory.data() + (64 - address % 64) % 64 + offset;
  }
  std::vector<std::byte> memory;
  std::byte *data;
};

float xAt(int64_t i) { return static_cast<float>(i % 31) - 5; }
float yAt(int64_t i) { return 2 * (xAt(i) + static_cast<float>(i % 7)); }

/// Runs addAndDouble with buffers that are `inOffset` and `outOffset` bytes off
/// their alignment, and compares.
void expectRight(ExecutionContext &context, int64_t rows, size_t inOffset,
                 size_t outOffset) {
  int64_t elements = rows * 16;
  Unaligned x(elements * 4, inOffset), y(elements * 4, outOffset);
  for (int64_t i = 0; i < elements; ++i) {
    float value = xAt(i);
    std::memcpy(x.data + i * 4, &value, 4);
  }
  TensorView in{ElementType::F32, {rows, 16}, x.data};
  MutableTensorView out{ElementType::F32, {rows, 16}, y.data};
  Status status = context.run({&in, 1}, {&out, 1});
  ASSERT_TRUE(status.ok()) << text(status);
  for (int64_t i = 0; i < elements; ++i) {
    float value;
    std::memcpy(&value, y.data + i * 4, 4);
    ASSERT_EQ(value, yAt(i)) << "element " << i;
  }
}

TEST(Session, RunsKernelsOverArenaAndConstants) {
  for (int threads : {1, 2, 5}) {
    auto session = open(addAndDouble(1000),
                        {.device = DeviceKind::Host, .threads = threads});
    auto context = session->createContext();
    ASSERT_TRUE(context.ok()) << text(context);
    for (int run = 0; run < 3; ++run)
      expectRight(**context, 1000, 0, 0);
  }
}

// The host is done on return; what is tested is that nothing else changes, and
// that waiting for nothing is right.
TEST(Session, RunsMayFollowEachOtherBeforeTheyAreWaitedFor) {
  auto session = open(addAndDouble(33));
  auto context = session->createContext();
  ASSERT_TRUE(context.ok()) << text(context);
  EXPECT_TRUE((*context)->wait().ok());
  std::vector<float> x(33 * 16, 1.5f), first(33 * 16), second(33 * 16),
      once(33 * 16);
  TensorView in{ElementType::F32, {33, 16}, x.data()};
  for (std::vector<float> *y : {&first, &second}) {
    MutableTensorView out{ElementType::F32, {33, 16}, y->data()};
    Status status =
        (*context)->run({&in, 1}, {&out, 1}, {.asynchronous = true});
    ASSERT_TRUE(status.ok()) << text(status);
  }
  ASSERT_TRUE((*context)->wait().ok());
  MutableTensorView out{ElementType::F32, {33, 16}, once.data()};
  ASSERT_TRUE((*context)->run({&in, 1}, {&out, 1}).ok());
  EXPECT_EQ(first, once);
  EXPECT_EQ(second, once);
  EXPECT_EQ((*context)->statistics().steps.size(),
            session->target().steps.size());
}

TEST(Session, TakesBuffersOfAnyAlignment) {
  auto session = open(addAndDouble(33));
  auto context = session->createContext();
  for (size_t offset : {1, 4, 32, 63})
    expectRight(**context, 33, offset, 64 - offset);
}

TEST(Session, CopiesUnalignedConstants) {
  Program program = addAndDouble(33);
  auto bytes =
      std::make_shared<Unaligned>(program.constants[0].bytes.size(), 3);
  std::memcpy(bytes->data, program.constants[0].bytes.data(),
              program.constants[0].bytes.size());
  program.constants[0] = {{bytes->data, program.constants[0].bytes.size()},
                          bytes};
  // A kernel that tells whether it was given aligned memory.
  TargetProgram &target = program.targets[0];
  KernelCode check = target.kernels[0];
  check.symbol = "alignment";
  check.arguments[2] = {ElementType::I32, 33, true};
  target.kernels.push_back(check);
  program.outputs.push_back({"aligned", ElementType::I32, {33}});
  Step step = target.steps[0];
  step.kernel = 2;
  step.args[2] = output(1, 33 * 4);
  target.steps.push_back(step);

  auto session = open(std::move(program));
  auto context = session->createContext();
  Unaligned x(33 * 64, 4);
  std::vector<float> y(33 * 16);
  std::vector<int32_t> aligned(33);
  TensorView in{ElementType::F32, {33, 16}, x.data};
  MutableTensorView outs[] = {{ElementType::F32, {33, 16}, y.data()},
                              {ElementType::I32, {33}, aligned.data()}};
  Status status = (*context)->run({&in, 1}, outs);
  ASSERT_TRUE(status.ok()) << text(status);
  EXPECT_THAT(aligned, ::testing::Each(1));
}

TEST(Session, ContextsRunAtTheSameTime) {
  for (int threads : {1, 2}) {
    auto session = open(addAndDouble(500),
                        {.device = DeviceKind::Host, .threads = threads});
    std::vector<std::thread> users;
    for (int user = 0; user < 4; ++user)
      users.emplace_back([&] {
        auto context = session->createContext();
        for (int run = 0; run < 20; ++run)
          expectRight(**context, 500, 0, 0);
      });
    for (std::thread &user : users)
      user.join();
  }
}

TEST(Session, WorkspaceStartsAtZeroAndStaysPerContext) {
  auto session = open(countRuns(4));
  auto first = session->createContext(), second = session->createContext();
  auto count = [](ExecutionContext &context) {
    int32_t value = -1;
    MutableTensorView out{ElementType::I32, {1}, &value};
    EXPECT_TRUE(context.run({}, {&out, 1}).ok());
    return value;
  };
  EXPECT_EQ(count(**first), 1);
  EXPECT_EQ(count(**first), 2);
  EXPECT_EQ(count(**second), 1);
  EXPECT_EQ(count(**first), 3);
}

/// y = 2 * (x + computed), computed = 2 * (bias + bias), by two prologue steps.
Program withPrologue(int64_t rows) {
  Program program = addAndDouble(rows);
  int64_t bytes = rows * 64;
  program.constantInfos.push_back({"computed", ElementType::F32, {rows, 16}});
  program.constants.push_back({});
  TargetProgram &target = program.targets[0];
  Step first = target.steps[0], second = target.steps[1];
  first.args = {constant(0, bytes), constant(0, bytes), arena(0, bytes)};
  second.args = {arena(0, bytes), constant(1, bytes)};
  target.prologue = {first, second};
  target.steps[0].args[1] = constant(1, bytes);
  return program;
}

TEST(Session, PrologueComputesConstantsOnce) {
  auto session = open(withPrologue(20));
  EXPECT_EQ(session->prologueStatistics().steps.size(), 2u);
  auto context = session->createContext();
  std::vector<float> x(320, 1.0f), y(320);
  TensorView in{ElementType::F32, {20, 16}, x.data()};
  MutableTensorView out{ElementType::F32, {20, 16}, y.data()};
  ASSERT_TRUE((*context)->run({&in, 1}, {&out, 1}).ok());
  for (int i = 0; i < 320; ++i)
    ASSERT_EQ(y[i], 2 * (1 + 4 * static_cast<float>(i % 7)));
}

TEST(Session, CopiesOutputsThatAreInputsConstantsOrArena) {
  Program program = addAndDouble(4);
  int64_t bytes = 4 * 64;
  std::vector<int64_t> shape{4, 16};
  for (const char *name : {"x_again", "bias_again", "sum", "y_again"})
    program.outputs.push_back({name, ElementType::F32, {4, 16}});
  program.targets[0].outputs = {output(0, bytes), input(0, bytes),
                                constant(0, bytes), arena(0, bytes),
                                output(0, bytes)};
  auto session = open(std::move(program));
  auto context = session->createContext();
  std::vector<float> x(64), y[5];
  for (int i = 0; i < 64; ++i)
    x[i] = xAt(i);
  TensorView in{ElementType::F32, shape, x.data()};
  std::vector<MutableTensorView> outs;
  for (std::vector<float> &values : y) {
    values.resize(64);
    outs.push_back({ElementType::F32, shape, values.data()});
  }
  Status status = (*context)->run({&in, 1}, outs);
  ASSERT_TRUE(status.ok()) << text(status);
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(y[0][i], yAt(i));
    EXPECT_EQ(y[1][i], x[i]);
    EXPECT_EQ(y[2][i], static_cast<float>(i % 7));
    EXPECT_EQ(y[3][i], x[i] + static_cast<float>(i % 7));
    EXPECT_EQ(y[4][i], yAt(i));
  }
}

TEST(Session, RunsCopiesAndLibraryCalls) {
  // y = x @ x with x copied into the arena first
  Program program;
  program.inputs = {{"x", ElementType::F32, {2, 2}}};
  program.outputs = {{"y", ElementType::F32, {2, 2}}};
  TargetProgram target;
  target.target = "x86-64-v2";
  Step copy, product;
  copy.kind = Step::Kind::Copy;
  copy.args = {input(0, 16), arena(256, 16)};
  product.kind = Step::Kind::Library;
  product.library.matmul.m = product.library.matmul.n =
      product.library.matmul.k = 2;
  product.library.matmul.a.strides = product.library.matmul.b.strides =
      product.library.matmul.result.strides = {2, 1};
  product.args = {arena(256, 16), input(0, 16), output(0, 16)};
  target.steps = {copy, product};
  target.arenaBytes = 512;
  program.targets = {target};
  auto session = open(std::move(program));
  auto context = session->createContext();
  float x[] = {1, 2, 3, 4}, y[4];
  TensorView in{ElementType::F32, {2, 2}, x};
  MutableTensorView out{ElementType::F32, {2, 2}, y};
  Status status = (*context)->run({&in, 1}, {&out, 1});
  ASSERT_TRUE(status.ok()) << text(status);
  EXPECT_THAT(y, ::testing::ElementsAre(7, 10, 15, 22));
  EXPECT_EQ((*context)->statistics().steps.size(), 2u);
  EXPECT_GT((*context)->statistics().seconds, 0);
}

TEST(Session, TakesNoElementsAtAll) {
  auto session = open(addAndDouble(0));
  auto context = session->createContext();
  TensorView in{ElementType::F32, {0, 16}, nullptr};
  MutableTensorView out{ElementType::F32, {0, 16}, nullptr};
  EXPECT_TRUE((*context)->run({&in, 1}, {&out, 1}).ok());
}

TEST(Session, KeepsObjectsInAFolder) {
  std::string folder = ::testing::TempDir();
  for (int time = 0; time < 2; ++time) { // the second time the file is there
    auto session = open(
        addAndDouble(3),
        {.device = DeviceKind::Host, .threads = 1, .objectFolder = folder});
    auto context = session->createContext();
    expectRight(**context, 3, 0, 0);
  }
}

TEST(Session, UsesTheCallersAllocator) {
  struct Counting : Allocator {
    std::shared_ptr<Allocator> system = systemAllocator();
    int64_t live = 0, calls = 0;
    void *allocate(int64_t bytes, size_t alignment) override {
      live += bytes;
      ++calls;
      return system->allocate(bytes, alignment);
    }
    void deallocate(void *memory, int64_t bytes) override {
      live -= bytes;
      system->deallocate(memory, bytes);
    }
  };
  auto allocator = std::make_shared<Counting>();
  {
    auto session = open(
        addAndDouble(10),
        {.device = DeviceKind::Host, .threads = 1, .allocator = allocator});
    auto context = session->createContext();
    expectRight(**context, 10, 4, 4);
    EXPECT_GT(allocator->calls, 2);
  }
  EXPECT_EQ(allocator->live, 0);
}

// --- One test per message ---

struct SessionRefuses : ::testing::Test {
  SessionRefuses()
      : session(open(addAndDouble(2))),
        context(std::move(*session->createContext())), x(32), y(32) {}
  std::string run(std::vector<TensorView> inputs,
                  std::vector<MutableTensorView> outputs) {
    return text(context->run(inputs, outputs));
  }
  std::shared_ptr<const Session> session;
  std::unique_ptr<ExecutionContext> context;
  std::vector<float> x, y;
  TensorView goodIn{ElementType::F32, {2, 16}, x.data()};
  MutableTensorView goodOut{ElementType::F32, {2, 16}, y.data()};
};

TEST_F(SessionRefuses, AnotherNumberOfInputs) {
  EXPECT_EQ(run({}, {goodOut}), "inputs: the program has 1, got 0 (the "
                                "program's inputs are: x f32[2x16])");
}

TEST_F(SessionRefuses, AnotherNumberOfOutputs) {
  EXPECT_EQ(run({goodIn}, {goodOut, goodOut}),
            "outputs: the program has 1, got 2 (the program's outputs are: y "
            "f32[2x16])");
}

TEST_F(SessionRefuses, AnotherShape) {
  EXPECT_EQ(run({{ElementType::F32, {2, 4}, x.data()}}, {goodOut}),
            "input 'x': the program was compiled for x f32[2x16], got f32[2x4] "
            "(the program's inputs are: x f32[2x16])");
}

TEST_F(SessionRefuses, AnotherType) {
  EXPECT_EQ(run({goodIn}, {{ElementType::F64, {2, 16}, y.data()}}),
            "output 'y': the program was compiled for y f32[2x16], got "
            "f64[2x16] (the program's outputs are: y f32[2x16])");
}

TEST_F(SessionRefuses, NullData) {
  EXPECT_EQ(
      run({{ElementType::F32, {2, 16}, nullptr}}, {goodOut}),
      "input 'x': its data is null (the program's inputs are: x f32[2x16])");
}

TEST_F(SessionRefuses, AnOutputOverAnInput) {
  EXPECT_EQ(run({goodIn}, {{ElementType::F32, {2, 16}, x.data()}}),
            "output 'y': its memory overlaps that of input 'x' (give every "
            "output memory of its own)");
}

TEST(SessionErrors, OutputsThatOverlap) {
  Program program = addAndDouble(1);
  program.outputs.push_back({"z", ElementType::F32, {1, 16}});
  program.targets[0].outputs = {output(0, 64), output(0, 64)};
  auto session = open(std::move(program));
  auto context = session->createContext();
  float x[16] = {}, y[16];
  TensorView in{ElementType::F32, {1, 16}, x};
  MutableTensorView outs[] = {{ElementType::F32, {1, 16}, y},
                              {ElementType::F32, {1, 16}, y}};
  EXPECT_EQ(text((*context)->run({&in, 1}, outs)),
            "output 'z': its memory overlaps that of output 'y' (give every "
            "output memory of its own)");
}

TEST_F(SessionRefuses, AStreamOnTheHost) {
  int something;
  EXPECT_EQ(
      text(context->run({&goodIn, 1}, {&goodOut, 1}, {.stream = {&something}})),
      "stream: the host has no streams: work runs on the calling thread (pass "
      "no stream)");
}

TEST(SessionErrors, NoSuchTarget) {
  EXPECT_EQ(
      whyNot(addAndDouble(1), {.device = DeviceKind::Host, .target = "sm_80"}),
      "target sm_80: the program has host (choose one of them, or compile the "
      "model with --target sm_80)");
}

TEST(SessionErrors, TargetOfAnotherDevice) {
  Program program = addAndDouble(1);
  program.targets[0].target = "sm_90";
  EXPECT_EQ(whyNot(program, {.device = DeviceKind::Host, .target = "sm_90"}),
            "target sm_90: is not for the host device (run it with --device "
            "simulator or --device cuda, or compile for host "
            "or x86-64-v2/3/4)");
  EXPECT_THAT(whyNot(program),
              HasSubstr("device host: none of the program's targets (sm_90) "
                        "runs on it (compile the model "
                        "with --target host)"));
}

TEST(SessionErrors, ObjectForAnotherCpu) {
  Program program = addAndDouble(1);
  program.targets[0].requiredCpu = "futurecpu";
  program.targets[0].requiredFeatures = {"+sse2", "+amx-of-the-future"};
  std::string message = whyNot(program);
  EXPECT_THAT(message, HasSubstr("target host: the object was compiled for "
                                 "futurecpu; this CPU (x86-64-v"));
  EXPECT_THAT(message, HasSubstr("lacks amx-of-the-future"));
  EXPECT_THAT(message, HasSubstr("compile the model with --target x86-64-v"));
}

TEST(SessionErrors, TakesTheHighestLevelThatFits) {
  Program program = addAndDouble(1);
  TargetProgram fits = program.targets[0], tooNew = fits;
  fits.target = "x86-64-v2";
  tooNew.requiredFeatures = {"amx-of-the-future"};
  program.targets = {tooNew, fits};
  EXPECT_EQ(open(std::move(program))->target().target, "x86-64-v2");
}

TEST(SessionErrors, NotASharedObject) {
  Program program = addAndDouble(1);
  program.targets[0].code = blobOf(std::vector<char>(100, 'x'));
  EXPECT_THAT(whyNot(program),
              HasSubstr("host code: the shared object cannot be loaded: "));
}

TEST(SessionErrors, MissingKernel) {
  Program program = addAndDouble(1);
  program.targets[0].kernels[1].symbol = "thrice";
  EXPECT_EQ(whyNot(program),
            "target host: the shared object has no kernel 'thrice'");
}

TEST(SessionErrors, MemoryCap) {
  Program program = addAndDouble(1000);
  auto session = open(
      program, {.device = DeviceKind::Host, .threads = 1, .memoryCap = 10000});
  auto context = session->createContext();
  ASSERT_FALSE(context.ok());
  EXPECT_EQ(context.error().kind, ErrorKind::DeviceFailed);
  EXPECT_EQ(text(context), "memory for the arena: 64000 bytes are needed, but "
                           "of the memory cap of 10000 bytes 0 are in use "
                           "(raise the memory cap, or use fewer execution "
                           "contexts or a smaller batch)");
}

TEST(SessionErrors, OutOfMemory) {
  struct Empty : Allocator {
    void *allocate(int64_t, size_t) override { return nullptr; }
    void deallocate(void *, int64_t) override {}
  };
  auto session =
      open(addAndDouble(1), {.device = DeviceKind::Host,
                             .threads = 1,
                             .allocator = std::make_shared<Empty>()});
  EXPECT_EQ(text(session->createContext()),
            "memory for the arena: out of memory: 256 bytes could not be "
            "allocated (free "
            "memory, or use a smaller batch)");
}

TEST(SessionErrors, ObjectFolderThatIsNotThere) {
  EXPECT_EQ(whyNot(addAndDouble(1), {.device = DeviceKind::Host,
                                     .objectFolder = "/nowhere/at/all"}),
            "object folder /nowhere/at/all: the object cannot be written: No "
            "such file or directory (name a folder that exists "
            "and can be written)");
}

TEST(SessionErrors, ProgramThatContradictsItself) {
  Program program = addAndDouble(1);
  program.targets[0].steps[0].args[0].bytes = 100;
  EXPECT_THAT(whyNot(program),
              HasSubstr("target host, step 'add': outside its memory of 64 "
                        "bytes: input 0 [0, +100)"));
}

TEST(SessionErrors, LibraryCallThatNobodyTakes) {
  Program program = addAndDouble(1);
  Step step;
  step.kind = Step::Kind::Library;
  step.name = "and";
  step.library.matmul.type = ElementType::Bool;
  step.library.matmul.m = step.library.matmul.n = step.library.matmul.k = 1;
  step.library.matmul.a.strides = step.library.matmul.b.strides =
      step.library.matmul.result.strides = {1, 1};
  step.args = {input(0, 1), input(0, 1), arena(0, 1)};
  program.targets[0].steps.push_back(step);
  EXPECT_EQ(
      whyNot(program),
      "library call and: a product of bool matrices is not a library call");
}

} // namespace
