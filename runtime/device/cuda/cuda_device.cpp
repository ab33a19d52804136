#include "runtime/device/cuda/cuda_device.h"

#include <dlfcn.h>

namespace lockstitch {
namespace {

constexpr const char *kDriverLibrary = "libcuda.so.1";
constexpr const char *kElsewhere =
    "run with --device host, or --device simulator to check and count the "
    "GPU's kernels";

/// The part of the driver API that tells whether there is something to run on
/// (CUDA driver API manual, 6.2 and 6.5).
struct Driver {
  int (*initialise)(unsigned) = nullptr;
  int (*deviceCount)(int *) = nullptr;
  int (*errorString)(int, const char **) = nullptr;
};

std::string describe(const Driver &driver, int code) {
  const char *text = nullptr;
  if (driver.errorString && driver.errorString(code, &text) == 0 && text)
    return std::string(text) + " (" + std::to_string(code) + ")";
  return "error " + std::to_string(code);
}

} // namespace

Result<std::unique_ptr<Device>> createCudaDevice(const DeviceOptions &options,
                                                 const char *driverLibrary) {
  void *library = dlopen(driverLibrary, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    return Error::refused(
        "device cuda",
        std::string("no NVIDIA driver: the library ") + driverLibrary +
            " was not found (" + (reason ? reason : "unknown") + ")",
        std::string("install the driver on a machine with a GPU; here, ") +
            kElsewhere);
  }
  // Stays loaded: drivers start threads and do not survive being unloaded.
  Driver driver;
  driver.initialise =
      reinterpret_cast<int (*)(unsigned)>(dlsym(library, "cuInit"));
  driver.deviceCount =
      reinterpret_cast<int (*)(int *)>(dlsym(library, "cuDeviceGetCount"));
  driver.errorString = reinterpret_cast<int (*)(int, const char **)>(
      dlsym(library, "cuGetErrorString"));
  if (!driver.initialise || !driver.deviceCount)
    return Error::refused(
        "device cuda",
        std::string(driverLibrary) + " is not a CUDA driver: it has no cuInit",
        std::string("install the NVIDIA driver; here, ") + kElsewhere);
  if (int code = driver.initialise(0))
    return Error::refused(
        "device cuda",
        "the NVIDIA driver does not start: " + describe(driver, code),
        std::string("see whether nvidia-smi works on this machine; else ") +
            kElsewhere);
  int count = 0;
  if (int code = driver.deviceCount(&count))
    return Error::refused(
        "device cuda",
        "the NVIDIA driver does not tell its GPUs: " + describe(driver, code),
        std::string("see whether nvidia-smi works on this machine; else ") +
            kElsewhere);
  if (options.ordinal < 0 || options.ordinal >= count)
    return Error::refused(
        "device cuda",
        "there is no GPU " + std::to_string(options.ordinal) +
            ": the driver has " + std::to_string(count),
        count ? "choose a GPU from 0 to " + std::to_string(count - 1)
              : std::string("make a GPU visible to this process; else ") +
                    kElsewhere);
  return Error::refused(
      "device cuda",
      "this version compiles for GPUs but does not execute on them yet",
      kElsewhere);
}

Result<std::unique_ptr<Device>> createCudaDevice(const DeviceOptions &options) {
  return createCudaDevice(options, kDriverLibrary);
}

bool cudaDeviceUsable() { return createCudaDevice({}).ok(); }

} // namespace lockstitch
