// scripts/demo, once the clone is set up: bootstraps a tree, runs the agent on this clone and checks what it did.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { checkRun } from './check.mjs';
import { startSite } from './site.mjs';
import { createTranscript } from './transcript.mjs';
import { demoTurns } from './turns.mjs';

const root = new URL('../..', import.meta.url).pathname;
const panto = join(root, 'bin/panto');
const home = join(root, '.cache/demo');
const print = (line) => console.log(line);

/** Nothing of the user's own configuration; everything panto keeps lies below `home`. */
function demoEnv() {
  const { PATH, TERM, TMPDIR } = process.env;
  const env = { PATH, TERM, TMPDIR, HOME: home, LANG: 'C.UTF-8' };
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined));
}

function writeConfig() {
  const folder = join(home, '.config/panto');
  const paths = ['examples/extensions', 'examples/tools'].map((path) => JSON.stringify(join(root, path)));
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'config.toml'), `[extensions]\npaths = [${paths.join(', ')}]\n`);
}

function readmeNumbers() {
  const bytes = readFileSync(join(root, 'README.md'));
  const text = bytes.toString('latin1');
  return {
    lines: text.split('\n').length - 1,
    words: text.match(/[^ \t\n\v\f\r]+/g)?.length ?? 0,
    bytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  };
}

function bootstrap() {
  print('$ panto bootstrap');
  const { status } = spawnSync(process.execPath, [panto, 'bootstrap'], {
    env: demoEnv(),
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (status !== 0) throw new Error(`panto bootstrap ended with status ${status}`);
}

/** Runs the agent to its end; shows and gives back its events. */
async function runAgent(turns) {
  const script = join(home, 'script.json');
  const played = turns.map(({ text, calls }) => ({
    text,
    tool_calls: calls.map(({ name, input }) => ({ name, input })),
  }));
  writeFileSync(script, JSON.stringify({ turns: played }, null, 2));
  const args = [
    '-p',
    'Show what you can do.',
    '--model',
    `scripted:${script}`,
    '--permission',
    'auto',
    '--output',
    'jsonl',
  ];
  print(`$ panto ${args.map((arg) => (/\s/.test(arg) ? `'${arg}'` : arg)).join(' ')}\n`);
  const child = spawn(process.execPath, [panto, ...args], {
    env: demoEnv(),
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
  // Its account of the calls, which the transcript has, too.
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text) => {
    said += text;
  });
  const events = [];
  const transcript = createTranscript(print);
  for await (const line of createInterface({ input: child.stdout })) {
    const event = JSON.parse(line);
    events.push(event);
    transcript.onEvent(event);
  }
  const status = await ended;
  if (status !== 0) throw new Error(`panto ended with status ${status}: ${said.trim().split('\n').at(-1)}`);
  return events;
}

async function demo() {
  writeConfig();
  bootstrap();
  const site = await startSite();
  try {
    const script = demoTurns(site.url, readmeNumbers());
    return checkRun(await runAgent(script.turns), script);
  } finally {
    site.close();
  }
}

const { problems, summary } = await demo().catch((error) => ({ problems: [error.message], summary: '' }));
print('');
for (const problem of problems) print(`demo: failed: ${problem}`);
if (problems.length === 0) print(`demo: ok: ${summary}`);
process.exitCode = problems.length === 0 ? 0 : 1;
