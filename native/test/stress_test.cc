// 64 calls at a time under a rain of stops at 1 kHz, soft and hard, of running and of waiting tasks. Whoever
// was not asked to stop returns its result; whoever was returns it or says that it was stopped; every call
// ends once; every <close> runs once.
#include <array>
#include <chrono>
#include <map>
#include <thread>

#include "check.h"
#include "core/interrupt.h"
#include "host.h"

namespace panto::test {
namespace {

constexpr size_t kSlots = 64;
// The others are left in peace.
constexpr size_t kVictims = 32;
const std::array<const char*, 8> kKinds{"computes",        "recurses", "generates", "calls_back",
                                        "has_metamethods", "fails",    "searches",  "spawns"};
const char* const kSpinning = "spins";

struct Random {
  uint64_t state;
  uint32_t next() {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<uint32_t>(state >> 33);
  }
  uint32_t below(uint32_t limit) { return next() % limit; }
};

struct Slot {
  Token token = 0;
  size_t kind = 0;  // kKinds.size(): it spins
  bool asked = false;
};

const char* tool_of(const Slot& slot) {
  return slot.kind < kKinds.size() ? kKinds[slot.kind] : kSpinning;
}

// Any victim, or the one that runs right now, if one does.
Slot& choose(Host& host, std::array<Slot, kSlots>& slots, Random& random) {
  Token running = host.runtime().watchdog().running();
  if (random.below(4) == 0) {
    for (size_t i = 0; i < kVictims; i++) {
      if (running != 0 && slots[i].token == running) return slots[i];
    }
  }
  return slots[random.below(kVictims)];
}

// Asks it to stop, by one of the ways that there are.
void stop_one(Host& host, Slot& slot, Random& random) {
  slot.asked = true;
  switch (random.below(4)) {
    case 0:
      host.cancel(slot.token);
      return;
    case 1:
      host.cancel(slot.token, CancelReason::kTimeout);
      return;
    default: {
      // What the watchdog does to a task that runs; one that waits does not hear it.
      Phase phase = random.below(3) == 0 ? Phase::kSoft : Phase::kHard;
      request_stop(StopRequest{slot.token, phase, CancelReason::kTimeout});
      send_interrupt(host.lua_thread());
    }
  }
}

TEST("stress: no wrong victim, no lost result, and every <close> once, under random stops at 1 kHz") {
  // Closers have time enough on a busy machine: here each of them must run to its end.
  Host host(Limits{60000, 10, 20000});
  host.load_file("stress.lua");
  std::map<size_t, std::string> expected;
  for (size_t kind = 0; kind < kKinds.size(); kind++) expected[kind] = host.text(kKinds[kind]);

  Random random{settings().seed};
  std::array<Slot, kSlots> slots;
  long settled = 0;
  long returned = 0;
  long unasked = 0;
  long stopped = 0;
  long requests = 0;
  auto take = [&](Slot& slot) {
    Outcome outcome = host.wait(slot.token);
    settled++;
    if (outcome.ok()) {
      returned++;
      unasked += slot.asked ? 0 : 1;
      CHECK_EQUAL(outcome.body, expected[slot.kind]);
    } else {
      stopped++;
      if (!slot.asked)
        note_failure(__FILE__, __LINE__, std::string("wrong victim: ") + tool_of(slot) + " " + outcome.body);
      std::string kind = outcome.error("kind");
      if (kind != "cancelled" && kind != "timeout")
        note_failure(__FILE__, __LINE__,
                     std::string("neither result nor stop: ") + tool_of(slot) + " " + outcome.body);
    }
    slot = Slot{};
  };

  auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(settings().seconds);
  while (std::chrono::steady_clock::now() < end) {
    for (size_t i = 0; i < kSlots; i++) {
      Slot& slot = slots[i];
      if (slot.token != 0 && host.has_settled(slot.token)) take(slot);
      if (slot.token != 0) continue;
      bool spins = i < kVictims && random.below(16) == 0;
      slot.kind = spins ? kKinds.size() : random.below(kKinds.size());
      slot.token = host.start(tool_of(slot));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    Slot& slot = choose(host, slots, random);
    requests++;
    stop_one(host, slot, random);
  }
  for (Slot& slot : slots) {
    bool spins = slot.kind == kKinds.size();
    slot.asked = slot.asked || spins;
    if (spins) host.cancel(slot.token);
  }
  for (Slot& slot : slots) take(slot);

  CHECK(returned > 0);
  CHECK(stopped > 0);
  CHECK(unasked > 0);
  std::string counts = host.text("counts");
  long left = 0;
  long closed = 0;
  long twice = 0;
  CHECK(std::sscanf(counts.c_str(), "left open %ld closed %ld twice %ld", &left, &closed, &twice) == 3);
  CHECK_EQUAL(left, 0);
  CHECK_EQUAL(twice, 0);
  CHECK_EQUAL(host.problems().size(), 0U);
  std::printf("  %ld calls: %ld returned (%ld of them never asked to stop), %ld stopped; %ld requests; %s\n",
              settled, returned, unasked, stopped, requests, counts.c_str());
}

}  // namespace
}  // namespace panto::test
