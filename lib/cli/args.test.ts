import type { ArgsDef } from 'citty';
import { checkArguments } from './args.js';

const definition: ArgsDef = {
  prompt: { type: 'positional', required: false },
  print: { type: 'string', alias: 'p', valueHint: 'PROMPT' },
  output: { type: 'enum', options: ['text', 'jsonl'] },
  debug: { type: 'boolean' },
};
const check = (...args: string[]) => checkArguments(definition, args, 1);
const refusal = (...args: string[]): string => {
  try {
    check(...args);
  } catch (error) {
    return (error as Error).message;
  }
  return 'accepted';
};

test('values reach citty in a form that it cannot misread', () => {
  expect(check('-p', '--no-x is a flag?', '--debug', 'word')).toEqual({
    kind: 'run',
    rawArgs: ['--print=--no-x is a flag?', '--debug', '--', 'word'],
    words: ['word'],
  });
  expect(check('-p', '- a list')).toMatchObject({ rawArgs: ['--print=- a list'] });
  expect(check('-p', '-')).toMatchObject({ rawArgs: ['--print=-'] });
  expect(check('--print=--debug')).toMatchObject({ rawArgs: ['--print=--debug'] });
  expect(check('--', '--debug')).toMatchObject({ rawArgs: ['--', '--debug'] });
});

test('bad usage names the argument and what to write', () => {
  expect(refusal('--prnt', 'x')).toBe('unknown flag --prnt; did you mean --print?');
  expect(refusal('--no-debug')).toBe('unknown flag --no-debug');
  expect(refusal('-x')).toBe('unknown flag -x');
  expect(refusal('-p')).toBe('-p needs a value: -p PROMPT');
  expect(refusal('--print', '--debug')).toBe('--print needs a value: --print=PROMPT');
  expect(refusal('--debug=yes')).toBe('--debug takes no value');
  expect(refusal('--output', 'xml')).toBe('--output must be one of text, jsonl, not "xml"');
  expect(refusal('-p', 'a', '--print', 'b')).toBe('--print is given twice');
  expect(refusal('a', 'b')).toBe('unexpected argument "b"');
});

test('help is asked for by a flag only, not by a value or a word', () => {
  expect(check('--help')).toEqual({ kind: 'help' });
  expect(check('-h')).toEqual({ kind: 'help' });
  expect(check('--', '--help')).toMatchObject({ kind: 'run' });
});
