// Colours, where they are wanted: a terminal that is not dumb and no NO_COLOR (https://no-color.org).
import { styleText } from 'node:util';

export interface Style {
  dim(text: string): string;
  bold(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
}

/** Whether to colour what goes to this stream. */
export function wantsColour(stream: { isTTY?: boolean }, env: NodeJS.ProcessEnv): boolean {
  return stream.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb';
}

export function createStyle(colours: boolean): Style {
  // Not validated against process.stdout, which may be the log of the extensions by now.
  const paint = (format: Parameters<typeof styleText>[0]) => (text: string) =>
    colours ? styleText(format, text, { validateStream: false }) : text;
  return { dim: paint('dim'), bold: paint('bold'), red: paint('red'), green: paint('green'), yellow: paint('yellow') };
}
