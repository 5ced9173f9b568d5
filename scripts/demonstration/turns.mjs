// The conversation that scripts/demo plays. Each call says what its result has to be, so that the run can be checked.

/**
 * @typedef {{ name: string, input: object, result: RegExp, fails?: boolean }} Call
 * @typedef {{ text: string, calls: Call[] }} Turn
 */

/** How many pages of the demo's web server the batch fetches at once. */
const PAGES = 8;
const COUNTS = 4;

/**
 * @param {string} site  address of the demo's own web server
 * @param {{ lines: number, words: number, bytes: number, sha256: string }} readme  the true numbers of README.md
 * @returns {{ turns: Turn[], batch: number }}  `batch`: index of the turn whose Lua calls have to overlap
 */
export function demoTurns(site, readme) {
  const counts = `${readme.lines} lines, ${readme.words} words, ${readme.bytes} bytes`;
  const pages = Array.from({ length: PAGES }, (_, i) =>
    call('fetch', { url: `${site}/page/${i + 1}` }, RegExp(`page ${i + 1}$`)),
  );
  const counted = Array.from({ length: COUNTS }, (_, i) =>
    call('counter', { name: 'pages', add: 2 }, RegExp(`^pages = ${2 * (i + 1)}$`)),
  );
  const turns = [
    {
      text: 'First a look at the project.',
      calls: [
        call('ls', {}, /^README\.md$/m),
        call('read', { path: 'README.md', limit: 5 }, /panto/),
        call('find', { pattern: 'examples/**/*.lua' }, /word_count\.lua/),
        call('grep', { pattern: 'register_tool', path: 'examples', limit: 5 }, /greet\.lua/),
      ],
    },
    {
      text: 'Extensions in Lua and native tools in one turn; two of these calls are wrong, and the others do not mind.',
      calls: [
        call('word_count', { path: 'README.md' }, RegExp(`^${counts}$`)),
        call('sha256', { path: 'README.md' }, RegExp(`^${readme.sha256}$`)),
        call('bash', { command: 'wc -l <README.md' }, RegExp(`^\\s*${readme.lines}$`)),
        { ...call('word_count', { path: 'no-such-file.md' }, /no-such-file\.md: No such file/), fails: true },
        { ...call('echo', { text: 7 }, /text/), fails: true },
        call('greet', { name: 'reader' }, /^Hello, reader!$/),
      ],
    },
    {
      text: `Now ${PAGES} slow pages at once, beside two commands.`,
      calls: [
        ...pages,
        ...counted,
        call('bash', { command: 'sleep 0.5; echo first' }, /^first$/),
        call('bash', { command: 'sleep 0.5; echo second' }, /^second$/),
      ],
    },
    {
      text: 'What an extension remembers is still there in the next turn.',
      calls: [
        call('counter', { name: 'pages', add: 0 }, RegExp(`^pages = ${2 * COUNTS}$`)),
        call('bash', { command: 'ls examples/extensions/*.lua | wc -l' }, /^\s*5$/),
      ],
    },
    { text: 'That is all.', calls: [] },
  ];
  return { turns, batch: 2 };
}

function call(name, input, result) {
  return { name, input, result };
}
