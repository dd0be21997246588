// SPDX-License-Identifier: Apache-2.0
// Does with the files of a directory what its arguments say, one after the other:
//
//   power_child DIRECTORY [write NAME TEXT | fill NAME BYTES CHARACTER | sync NAME |
//       datasync NAME | range NAME | cut NAME SIZE | rename NAME NAME | link NAME NAME |
//       remove NAME | mkdir NAME | map NAME | copy NAME | say TEXT | die]...
//
// `write` and `fill` append and make the file. "." is the directory. Ends with 1 when a step fails.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

class Child {
 public:
  explicit Child(std::vector<std::string> words) : words_(std::move(words)) {}

  bool Run() {
    const std::string folder = Next();
    if (chdir(folder.c_str()) != 0) {
      return false;
    }
    while (at_ < words_.size()) {
      if (!Step(Next())) {
        return false;
      }
    }
    return true;
  }

 private:
  std::string Next() { return at_ < words_.size() ? words_[at_++] : std::string(); }

  bool Step(const std::string& step) {
    if (step == "die") {
      raise(SIGKILL);
    }
    const std::string name = Next();
    if (step == "say") {
      return write(STDOUT_FILENO, name.data(), name.size()) > 0;
    }
    if (step == "rename") {
      return rename(name.c_str(), Next().c_str()) == 0;
    }
    if (step == "link") {
      return link(name.c_str(), Next().c_str()) == 0;
    }
    if (step == "remove") {
      return remove(name.c_str()) == 0;
    }
    return step == "mkdir" ? mkdir(name.c_str(), 0700) == 0 : StepOnFile(step, name);
  }

  bool StepOnFile(const std::string& step, const std::string& name) {
    const bool folder = name == "." || name.back() == '/';
    const int fd = open(name.c_str(), folder ? O_RDONLY : O_RDWR | O_CREAT | O_APPEND, 0600);
    bool done = fd >= 0;
    if (step == "write") {
      const std::string text = Next();
      done = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    } else if (step == "fill") {
      const auto size = static_cast<size_t>(std::atoll(Next().c_str()));
      const std::string text(size, Next().front());
      done = write(fd, text.data(), size) == static_cast<ssize_t>(size);
    } else if (step == "sync") {
      done = fsync(fd) == 0;
    } else if (step == "datasync") {
      done = fdatasync(fd) == 0;
    } else if (step == "range") {
      done = sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE) == 0;
    } else if (step == "cut") {
      done = ftruncate(fd, std::atoll(Next().c_str())) == 0;
    } else if (step == "map") {
      done = mmap(nullptr, 4096, PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED;
    } else if (step == "copy") {
      done = dup(fd) >= 0;
    } else {
      done = false;
    }
    return close(fd) == 0 && done;
  }

  std::vector<std::string> words_;
  size_t at_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return Child({argv + 1, argv + argc}).Run() ? 0 : 1;
}
