#include "cost_model/device.h"
#include "cost_model/embedded.h"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

using namespace lockstitch::cost;
using ::testing::HasSubstr;

namespace {

std::string problem(std::string_view text) {
  Device device;
  return parseDevice(text, "x.txt", device).value_or("");
}

/// A good file in which one line is replaced.
std::string with(std::string_view from, std::string_view to) {
  std::string text(deviceText("sm_90"));
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos);
  return text.replace(at, text.find('\n', at) - at, to);
}

TEST(DeviceFiles, AllParseAndAreNamedAfterTheirTarget) {
  EXPECT_EQ(embeddedDevices().size(), 9u);
  for (const EmbeddedFile &file : embeddedDevices()) {
    Device device;
    EXPECT_EQ(parseDevice(file.text, file.name, device).value_or(""), "");
    EXPECT_EQ(device.name + ".txt", file.name);
    EXPECT_EQ(device.threadsPerSm % device.warpSize, 0) << file.name;
    EXPECT_LE(device.sharedPerBlock + device.sharedReserved, device.sharedPerSm)
        << file.name;
  }
}

TEST(DeviceFiles, AreBuiltInAsTheyAreInTheRepository) {
  for (const EmbeddedFile &file : embeddedDevices()) {
    std::ifstream stream(std::string(LOCKSTITCH_SOURCE_DIR) +
                         "/cost_model/devices/" + std::string(file.name));
    std::string text((std::istreambuf_iterator<char>(stream)),
                     std::istreambuf_iterator<char>());
    EXPECT_EQ(file.text, text) << file.name;
  }
}

TEST(DeviceFiles, EveryFigureOfAGpuNamesItsSource) {
  for (const EmbeddedFile &file : embeddedDevices()) {
    if (file.name == "host.txt")
      continue;
    std::string_view text = file.text;
    while (!text.empty()) {
      std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(text.size(), line.size() + 1));
      if (!line.starts_with("name") && !line.starts_with("product"))
        EXPECT_THAT(std::string(line), HasSubstr("# ")) << file.name;
    }
  }
}

TEST(Devices, AreFoundByTarget) {
  for (const char *name : {"sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90",
                           "sm_100", "sm_120", "host"}) {
    ASSERT_NE(findDevice(name), nullptr) << name;
    EXPECT_EQ(findDevice(name)->name, name);
  }
  EXPECT_EQ(findDevice("x86-64-v3"), findDevice("host"));
  EXPECT_EQ(findDevice("sm_60"), nullptr);
  EXPECT_EQ(findDevice("sm_90")->multiprocessors, 132);
  EXPECT_EQ(findDevice("sm_90")->warpsPerSm(), 64);
  EXPECT_EQ(deviceNames().size(), 9u);
}

TEST(DeviceParser, UnknownKey) {
  EXPECT_EQ(problem("# x\n\nsmall 3\n"), "x.txt:3: unknown key 'small'");
}
TEST(DeviceParser, GivenTwice) {
  EXPECT_EQ(problem("name a\nname b\n"),
            "x.txt:2: 'name' was given in line 1 already");
}
TEST(DeviceParser, NoValue) {
  EXPECT_EQ(problem("name # nothing\n"), "x.txt:1: 'name' has no value");
}
TEST(DeviceParser, NotWhole) {
  EXPECT_EQ(problem("multiprocessors 1.5"),
            "x.txt:1: 'multiprocessors' is not a whole number: '1.5'");
}
TEST(DeviceParser, NotANumber) {
  EXPECT_EQ(problem("clock fast GHz"),
            "x.txt:1: 'clock' is not a number: 'fast'");
}
TEST(DeviceParser, WrongUnit) {
  EXPECT_EQ(problem("clock 1400 MHz"), "x.txt:1: 'clock' must be in GHz");
}
TEST(DeviceParser, NotPositive) {
  EXPECT_EQ(problem("warp_size 0"), "x.txt:1: 'warp_size' must be positive");
  EXPECT_EQ(problem("launch -1 us"), "x.txt:1: 'launch' must be positive");
}
TEST(DeviceParser, Missing) {
  std::string message = problem(with("latency", "# latency"));
  EXPECT_THAT(message, HasSubstr("'latency' is missing"));
}
TEST(DeviceParser, TakesCarriageReturnsAndTabs) {
  EXPECT_EQ(problem(with("warp_size", "warp_size\t32\t# x\r")), "");
}

} // namespace
