// jest runs the built output: worker entries, the command and the addon are then the real artefacts.
export default {
  rootDir: 'out',
  globalSetup: '<rootDir>/test/global-setup.js',
  testMatch: ['**/*.test.js'],
  transform: {},
  // Only tells a hang from an end, also on a machine that is busy.
  testTimeout: 180_000,
  // Each suite may start several panto processes; more workers than cores only make them slower.
  maxWorkers: 2,
};
