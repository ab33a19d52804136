#include "runtime/device/cuda/cuda_device.h"
#include "runtime/session/create_device.h"
#include "tests/unit/runtime/test_programs.h"

#include <gmock/gmock.h>

using namespace lockstitch;
using namespace lockstitch::testing;
using ::testing::HasSubstr;
using ::testing::StartsWith;

namespace {

constexpr const char *kElsewhere =
    "run with --device host, or --device simulator to check and count the "
    "GPU's kernels)";

TEST(CudaDevice, SaysThatThereIsNoDriver) {
  auto device = createCudaDevice({}, "libcuda-that-is-not-there.so.1");
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.error().kind, ErrorKind::Refused);
  EXPECT_THAT(text(device),
              StartsWith("device cuda: no NVIDIA driver: the library "
                         "libcuda-that-is-not-there.so.1 was not found ("));
  EXPECT_THAT(
      text(device),
      HasSubstr(
          std::string("(install the driver on a machine with a GPU; here, ") +
          kElsewhere));
}

TEST(CudaDevice, SaysThatTheLibraryIsNoDriver) {
  EXPECT_EQ(text(createCudaDevice({}, "libc.so.6")),
            std::string("device cuda: libc.so.6 is not a CUDA driver: it has "
                        "no cuInit (install the NVIDIA driver; here, ") +
                kElsewhere);
}

TEST(CudaDevice, SaysThatTheDriverDoesNotStart) {
  EXPECT_EQ(text(createCudaDevice({}, LOCKSTITCH_FAKE_DRIVER_BROKEN)),
            std::string("device cuda: the NVIDIA driver does not start: system "
                        "not ready (802) (see whether nvidia-smi works on this "
                        "machine; else ") +
                kElsewhere);
}

TEST(CudaDevice, SaysThatThereIsNoGpu) {
  EXPECT_EQ(text(createCudaDevice({}, LOCKSTITCH_FAKE_DRIVER_EMPTY)),
            std::string("device cuda: there is no GPU 0: the driver has 0 "
                        "(make a GPU visible to this process; else ") +
                kElsewhere);
}

TEST(CudaDevice, SaysThatThereIsNoSuchGpu) {
  DeviceOptions options;
  options.ordinal = 2;
  EXPECT_EQ(text(createCudaDevice(options, LOCKSTITCH_FAKE_DRIVER)),
            "device cuda: there is no GPU 2: the driver has 2 (choose a GPU "
            "from 0 to 1)");
}

TEST(CudaDevice, SaysThatExecutionIsToCome) {
  EXPECT_EQ(text(createCudaDevice({}, LOCKSTITCH_FAKE_DRIVER)),
            std::string("device cuda: this version compiles for GPUs but does "
                        "not execute on them yet (") +
                kElsewhere);
}

TEST(CreateDevice, AutoIsTheHostWithoutAUsableGpu) {
  auto device = createDevice(DeviceKind::Auto, {});
  ASSERT_TRUE(device.ok());
  EXPECT_EQ((*device)->kind(),
            cudaDeviceUsable() ? DeviceKind::Cuda : DeviceKind::Host);
}

TEST(CreateDevice, NamesRoundTrip) {
  for (DeviceKind kind : {DeviceKind::Auto, DeviceKind::Host,
                          DeviceKind::Simulator, DeviceKind::Cuda})
    EXPECT_EQ(parseDeviceKind(name(kind)), kind);
  EXPECT_FALSE(parseDeviceKind("tpu"));
}

} // namespace
