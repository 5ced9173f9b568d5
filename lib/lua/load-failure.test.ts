import { describeLoadFailure } from './load-failure.js';

const place = { packageRoot: '/opt/panto', node: '/usr/bin/node', nodeVersion: '22.1.0' };

test('a platform without a prebuilt addon is named, with its C library', () => {
  const cause =
    'No native build was found for platform=linux arch=arm64 runtime=node abi=127 uv=1 armv=8 libc=musl node=22.1.0\n    loaded from: /opt/panto\n';
  expect(describeLoadFailure(cause, place)).toBe(
    'panto has no prebuilt addon for linux-arm64-musl; build it with a C++ compiler, make and Python: cd /opt/panto && npx node-gyp rebuild',
  );
});

test('a Node without the libuv that the addon needs is named', () => {
  const cause = '/opt/panto/prebuilds/linux-x64/panto.glibc.node: undefined symbol: uv_async_send';
  expect(describeLoadFailure(cause, place)).toBe(
    "panto's addon needs the libuv inside Node, and /usr/bin/node (22.1.0) does not offer uv_async_send; use an official build of Node 20.17 or newer",
  );
});

test('any other cause is quoted, on one line', () => {
  const cause = "/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.36' not found\nmore";
  expect(describeLoadFailure(cause, place)).toBe(
    "panto's addon does not load in Node 22.1.0: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.36' not found; " +
      'build it with a C++ compiler, make and Python: cd /opt/panto && npx node-gyp rebuild',
  );
});
