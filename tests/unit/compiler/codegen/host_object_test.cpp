// Host targets, objects and their linking.
#include "execute.h"
#include "sample_kernels.h"

#include <gmock/gmock.h>

#include <dlfcn.h>
#include <fstream>
#include <iterator>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace lockstitch::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

KernelSchedule vectors(const StageProgram &program, unsigned width) {
  KernelSchedule schedule;
  schedule.vectorWidth = width;
  placeTiles(program, /*isGpu=*/false, schedule);
  return schedule;
}

HostObject objectOf(const StageProgram &program,
                    const HostTarget &target = hostTarget()) {
  Result<HostObject> object =
      generator().emitHostObject(program, vectors(program, 8), target);
  EXPECT_TRUE(object.ok()) << object.error().messages[0].reason;
  return object.ok() ? *object : HostObject();
}

std::vector<std::byte> link(const std::vector<HostObject> &objects) {
  std::vector<std::span<const std::byte>> spans;
  for (const HostObject &object : objects)
    spans.emplace_back(object.object);
  Result<std::vector<std::byte>> library = linkSharedObject(spans);
  EXPECT_TRUE(library.ok()) << library.error().messages[0].reason;
  return library.ok() ? *library : std::vector<std::byte>();
}

TEST(HostTarget, LevelsNameTheirFeatures) {
  Result<HostTarget> v2 = HostTarget::resolve("x86-64-v2"),
                     v3 = HostTarget::resolve("x86-64-v3"),
                     v4 = HostTarget::resolve("x86-64-v4");
  ASSERT_TRUE(v2.ok() && v3.ok() && v4.ok());
  EXPECT_THAT(v2->requiredFeatures, Contains("sse4.2"));
  EXPECT_THAT(v2->requiredFeatures, Not(Contains("avx")));
  EXPECT_FALSE(v2->hasFma);
  EXPECT_EQ(v2->vectorBytes, 16u);
  EXPECT_THAT(v3->requiredFeatures, Contains("avx")); // implied features too
  EXPECT_THAT(v3->requiredFeatures, Contains("avx2"));
  EXPECT_THAT(v3->requiredFeatures, Contains("f16c"));
  EXPECT_TRUE(v3->hasFma);
  EXPECT_EQ(v3->vectorBytes, 32u);
  EXPECT_THAT(v4->requiredFeatures, Contains("avx512bw"));
  EXPECT_EQ(v4->vectorBytes, 64u);
}

TEST(HostTarget, HostIsThisCpu) {
  Result<HostTarget> host = HostTarget::resolve("host");
  ASSERT_TRUE(host.ok());
  EXPECT_FALSE(host->cpu.empty());
  EXPECT_THAT(host->requiredFeatures, Contains("sse2"));
  // Only what kernels may use is asked for.
  EXPECT_THAT(host->requiredFeatures, Not(Contains("clflushopt")));
}

TEST(HostTarget, AnythingElseIsRefused) {
  Result<HostTarget> target = HostTarget::resolve("pentium");
  ASSERT_FALSE(target.ok());
  EXPECT_EQ(target.error().kind, ErrorKind::Refused);
  EXPECT_THAT(target.error().messages[0].where, HasSubstr("pentium"));
  EXPECT_THAT(target.error().messages[0].reason, HasSubstr("not a CPU target"));
  EXPECT_THAT(target.error().messages[0].wayOut, HasSubstr("x86-64-v3"));
}

TEST(HostObject, LevelsRestrictTheInstructions) {
  // The IR says which features the back end may use.
  StageProgram program = softmax(2, 64);
  EXPECT_THAT(objectOf(program, *HostTarget::resolve("x86-64-v2")).text.llvm,
              HasSubstr("\"target-cpu\"=\"x86-64-v2\""));
  EXPECT_THAT(objectOf(program, *HostTarget::resolve("x86-64-v3")).text.llvm,
              HasSubstr("\"target-cpu\"=\"x86-64-v3\""));
}

TEST(HostObject, TextsAreKeptOnRequest) {
  HostObject object = objectOf(softmax(2, 64));
  EXPECT_THAT(object.text.mlir, HasSubstr("scf.for"));
  EXPECT_THAT(object.text.llvm, HasSubstr("define void @softmax_f32_2x64"));
  CodeGenerator plain;
  Result<HostObject> without = plain.emitHostObject(
      softmax(2, 64), vectors(softmax(2, 64), 8), hostTarget());
  ASSERT_TRUE(without.ok());
  EXPECT_TRUE(without->text.mlir.empty() && without->text.llvm.empty());
}

TEST(HostObject, ScratchHoldsTheTiles) {
  EXPECT_EQ(objectOf(softmax(2, 100)).scratchBytes,
            448); // 100 f32, rounded up to 64
  EXPECT_EQ(objectOf(manyTiles(2, 64)).scratchBytes,
            64 * 4 + 64 + 64 * 2); // two tiles share the first slot
  EXPECT_EQ(objectOf(elementwise(2, 64)).scratchBytes, 0);
}

TEST(HostObject, TilesOfUnequalSizeMustNotShareASlot) {
  StageProgram program = manyTiles(2, 64);
  program.tiles[1].slot = 0; // bool beside f32
  Result<HostObject> host =
      generator().emitHostObject(program, vectors(program, 8), hostTarget());
  ASSERT_FALSE(host.ok());
  EXPECT_EQ(host.error().kind, ErrorKind::Internal);
  EXPECT_THAT(host.error().messages[0].reason, HasSubstr("share slot 0"));
}

TEST(HostObject, WhatCannotBeEmittedIsAnError) {
  KernelBuilder k("exp_of_int", 1);
  uint32_t in = k.input(ElementType::I32, 8),
           out = k.output(ElementType::I32, 8);
  k.stage(8);
  k.store(out, col(),
          k.op(ScalarOpcode::Exp, ElementType::I32, {k.load(in, col())}));
  Result<HostObject> host = generator().emitHostObject(
      k.program, vectors(k.program, 8), hostTarget());
  ASSERT_FALSE(host.ok());
  EXPECT_EQ(host.error().kind, ErrorKind::Internal);
  EXPECT_EQ(host.error().messages[0].where, "kernel exp_of_int");
  EXPECT_THAT(host.error().messages[0].reason,
              HasSubstr("cannot emit exp on i32"));
  // The generator is still good.
  EXPECT_TRUE(generator()
                  .emitHostObject(softmax(2, 64), vectors(softmax(2, 64), 8),
                                  hostTarget())
                  .ok());
}

TEST(CodeGenerator, SurvivesFatalErrorsOfLlvm) {
  CodeGenerator mine;
  HostTarget impossible;
  impossible.cpu = "i386"; // not a 64-bit CPU: LLVM ends the process
  Result<HostObject> object = mine.emitHostObject(
      softmax(2, 64), vectors(softmax(2, 64), 8), impossible);
  ASSERT_FALSE(object.ok());
  EXPECT_EQ(object.error().kind, ErrorKind::Internal);
  EXPECT_THAT(object.error().messages[0].reason,
              HasSubstr("64-bit code requested"));
  object = mine.emitHostObject(softmax(2, 64), vectors(softmax(2, 64), 8),
                               hostTarget());
  ASSERT_TRUE(object.ok());
  EXPECT_EQ(object->object, objectOf(softmax(2, 64)).object);
}

TEST(SharedObject, HoldsSeveralKernels) {
  StageProgram a = softmax(3, 64), b = layerNorm(3, 64);
  std::vector<std::byte> library = link({objectOf(a), objectOf(b)});
  int file = memfd_create("kernels", 0);
  ASSERT_EQ(write(file, library.data(), library.size()),
            static_cast<ssize_t>(library.size()));
  void *handle =
      dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW);
  ASSERT_TRUE(handle) << dlerror();
  EXPECT_TRUE(dlsym(handle, a.name.c_str()));
  EXPECT_TRUE(dlsym(handle, b.name.c_str()));
  dlclose(handle);
  close(file);
}

TEST(SharedObject, SameInputSameBytes) {
  EXPECT_EQ(link({objectOf(softmax(3, 64)), objectOf(layerNorm(3, 64))}),
            link({objectOf(softmax(3, 64)), objectOf(layerNorm(3, 64))}));
}

TEST(SharedObject, AnotherGeneratorGivesTheSameBytes) {
  CodeGenerator other;
  Result<HostObject> object = other.emitHostObject(
      softmax(3, 64), vectors(softmax(3, 64), 8), hostTarget());
  ASSERT_TRUE(object.ok());
  EXPECT_EQ(object->object, objectOf(softmax(3, 64)).object);
}

TEST(SharedObject, UndefinedSymbolIsNamed) {
  std::ifstream file(UNDEFINED_SYMBOL_OBJECT, std::ios::binary);
  std::vector<char> content((std::istreambuf_iterator<char>(file)), {});
  ASSERT_FALSE(content.empty());
  std::span<const std::byte> bytes(
      reinterpret_cast<const std::byte *>(content.data()), content.size());
  Result<std::vector<std::byte>> library =
      linkSharedObject(std::span(&bytes, 1));
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().kind, ErrorKind::Internal);
  EXPECT_THAT(library.error().messages[0].reason,
              HasSubstr("undefined symbol: lockstitch_test_missing_function"));
}

TEST(SharedObject, GarbageIsAnError) {
  std::vector<std::byte> garbage(100, std::byte{42});
  std::span<const std::byte> bytes(garbage);
  Result<std::vector<std::byte>> library =
      linkSharedObject(std::span(&bytes, 1));
  ASSERT_FALSE(library.ok());
  EXPECT_THAT(library.error().messages[0].reason, HasSubstr("linking failed"));
}

TEST(CodeGenerator, WorksInSeveralThreads) {
  std::vector<std::byte> expected = objectOf(softmax(3, 64)).object;
  std::vector<std::thread> threads;
  std::vector<int> good(4);
  for (int &result : good)
    threads.emplace_back([&] {
      CodeGenerator mine;
      Result<HostObject> object = mine.emitHostObject(
          softmax(3, 64), vectors(softmax(3, 64), 8), hostTarget());
      std::vector<std::span<const std::byte>> spans;
      if (object.ok())
        spans.emplace_back(object->object);
      result = object.ok() && object->object == expected &&
               linkSharedObject(spans).ok();
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_THAT(good, ::testing::Each(1));
}

} // namespace
} // namespace lockstitch::testing
