#include "runtime/program/file_bytes.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include <unistd.h>

using namespace lockstitch;

namespace {

struct FileBytesTest : ::testing::Test {
  FileBytesTest()
      : path(::testing::TempDir() + "file_bytes_" + std::to_string(getpid())) {
    std::filesystem::remove_all(path);
  }
  ~FileBytesTest() override { std::filesystem::remove_all(path); }
  std::shared_ptr<const FileBytes> make(size_t bytes) {
    std::string content(bytes, 'x');
    for (size_t i = 0; i < bytes; ++i)
      content[i] = static_cast<char>(i * 7);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
    FileBytes::Opened opened = FileBytes::open(path);
    EXPECT_EQ(opened.problem, FileBytes::Problem::None);
    EXPECT_TRUE(opened.file);
    EXPECT_EQ(opened.file->bytes().size(), bytes);
    EXPECT_TRUE(std::equal(
        content.begin(), content.end(), opened.file->bytes().begin(),
        [](char a, std::byte b) { return static_cast<std::byte>(a) == b; }));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(opened.file->bytes().data()) % 64,
              0u);
    return opened.file;
  }
  std::string path;
  static constexpr size_t kLarge = FileBytes::kCopiedBytes + 1;
};

TEST_F(FileBytesTest, Problems) {
  using Problem = FileBytes::Problem;
  EXPECT_EQ(FileBytes::open(path).problem, Problem::NoSuchFile);
  EXPECT_EQ(FileBytes::open(::testing::TempDir()).problem, Problem::Directory);
  EXPECT_EQ(FileBytes::open("/dev/null").problem, Problem::NotRegular);
  std::ofstream(path).close();
  EXPECT_EQ(FileBytes::open(path).problem, Problem::Empty);
}

TEST_F(FileBytesTest, SmallFilesAreCopied) {
  for (size_t bytes : {size_t{1}, size_t{64}, FileBytes::kCopiedBytes}) {
    auto file = make(bytes);
    EXPECT_EQ(mappedFile(file->bytes().data()), nullptr);
    std::vector<std::byte> before(file->bytes().begin(), file->bytes().end());
    std::filesystem::resize_file(path, 0);
    EXPECT_TRUE(file->isIntact());
    EXPECT_TRUE(
        std::equal(before.begin(), before.end(), file->bytes().begin()));
  }
}

TEST_F(FileBytesTest, LargeFilesKnowWhenTheyAreCut) {
  auto file = make(kLarge);
  const std::byte *data = file->bytes().data();
  EXPECT_STREQ(mappedFile(data), path.c_str());
  EXPECT_STREQ(mappedFile(data + kLarge - 1), path.c_str());
  EXPECT_EQ(mappedFile(&file), nullptr);
  EXPECT_TRUE(file->isIntact());
  std::filesystem::resize_file(path, kLarge - 1);
  EXPECT_FALSE(file->isIntact());
  file.reset();
  EXPECT_EQ(mappedFile(data), nullptr);
}

TEST_F(FileBytesTest, FindsWhereBytesComeFrom) {
  for (size_t bytes : {size_t{1000}, kLarge}) {
    auto file = make(bytes);
    auto place = findInFiles(file->bytes().subspan(100, 200));
    ASSERT_TRUE(place);
    EXPECT_EQ(place->path, path);
    EXPECT_EQ(place->offset, 100u);
    EXPECT_EQ(place->fileBytes, bytes);
    EXPECT_TRUE(findInFiles(file->bytes()));
    std::vector<std::byte> other(100);
    EXPECT_FALSE(findInFiles(other));
    EXPECT_FALSE(findInFiles({file->bytes().data() + bytes - 1, 2}));
    std::span<const std::byte> gone = file->bytes();
    file.reset();
    EXPECT_FALSE(findInFiles(gone));
  }
}

TEST_F(FileBytesTest, MoreMappingsThanTheHandlerKnows) {
  make(kLarge);
  std::vector<std::shared_ptr<const FileBytes>> files;
  for (int i = 0; i < 300; ++i)
    files.push_back(FileBytes::open(path).file);
  auto known = [&] {
    return std::count_if(files.begin(), files.end(), [](const auto &file) {
      return mappedFile(file->bytes().data()) != nullptr;
    });
  };
  EXPECT_EQ(known(), 256);
  EXPECT_TRUE(findInFiles(files.back()->bytes()));
  files.erase(files.begin(), files.begin() + 100);
  EXPECT_EQ(known(), 156);
  files.push_back(FileBytes::open(path).file);
  EXPECT_EQ(known(), 157);
}

TEST_F(FileBytesTest, OpenedFromManyThreads) {
  make(kLarge);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        auto file = FileBytes::open(path).file;
        ASSERT_STREQ(mappedFile(file->bytes().data()), path.c_str());
        ASSERT_TRUE(findInFiles(file->bytes().first(10)));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

/// What the command line does with it.
TEST_F(FileBytesTest, AHandlerCanNameTheFile) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto touch = [&] {
    auto file = make(kLarge);
    struct sigaction action{};
    action.sa_flags = SA_SIGINFO;
    action.sa_sigaction = [](int, siginfo_t *info, void *) {
      _exit(mappedFile(info->si_addr) ? 7 : 8);
    };
    sigaction(SIGBUS, &action, nullptr);
    std::filesystem::resize_file(path, 0);
    volatile std::byte gone = file->bytes()[kLarge / 2];
    _exit(gone == std::byte{0} ? 9 : 10);
  };
  EXPECT_EXIT(touch(), ::testing::ExitedWithCode(7), "");
}

} // namespace
