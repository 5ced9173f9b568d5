// Loaded into panto with NODE_OPTIONS=--import: ends the process on SIGUSR2 in the way that PANTO_TEST_ENDING says.
process.on('SIGUSR2', () => {
  switch (process.env.PANTO_TEST_ENDING) {
    case 'exit':
      process.exit(7);
      break;
    case 'throw':
      throw new Error('on purpose');
    case 'reject':
      void Promise.reject(new Error('on purpose'));
  }
});
