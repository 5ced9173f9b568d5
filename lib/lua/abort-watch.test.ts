import { type Abortable, AbortWatch } from './abort-watch.js';

class WatchedCall implements Abortable {
  readonly controller = new AbortController();
  isSettled = false;
  aborts = 0;
  listeners = 0;

  constructor(readonly watch: AbortWatch) {
    const { signal } = this.controller;
    const [add, remove] = [signal.addEventListener, signal.removeEventListener];
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      this.listeners += 1;
      add.apply(signal, args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      this.listeners -= 1;
      remove.apply(signal, args);
    };
    watch.add(this);
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  handleEvent(): void {
    this.aborts += 1;
  }

  settle(): void {
    this.isSettled = true;
    this.watch.settled(this);
  }
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 1));
}

test('an abort before the call is listened to is seen soon', async () => {
  const watch = new AbortWatch();
  const [aborted, other] = [new WatchedCall(watch), new WatchedCall(watch)];
  aborted.controller.abort();
  await until(() => aborted.aborts > 0);
  expect([aborted.aborts, aborted.listeners, other.aborts]).toEqual([1, 0, 0]);
});

test('an abort of a call that has been open for long is seen at once, and once only', async () => {
  const call = new WatchedCall(new AbortWatch());
  await until(() => call.listeners > 0);
  call.controller.abort();
  expect(call.aborts).toBe(1);
  call.settle();
  await until(() => call.listeners === 0);
  expect(call.aborts).toBe(1);
});

test('a call that settles soon is never listened to', async () => {
  const watch = new AbortWatch();
  const [short, long] = [new WatchedCall(watch), new WatchedCall(watch)];
  short.settle();
  short.controller.abort();
  await until(() => long.listeners > 0);
  expect([short.listeners, short.aborts]).toEqual([0, 0]);
});

test('the listener of a settled call is removed, and those of its neighbours stay', async () => {
  const watch = new AbortWatch();
  const [first, second] = [new WatchedCall(watch), new WatchedCall(watch)];
  await until(() => second.listeners > 0);
  first.settle();
  await until(() => first.listeners === 0);
  second.controller.abort();
  expect([first.aborts, second.aborts]).toEqual([0, 1]);
});
