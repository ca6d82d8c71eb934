/** Shows the progress of long work: each step, and how long it took. */
import type { Clock } from '#apimachinery/clock.js';

export interface ProgressEvent {
  readonly step: string;
  /** `waiting`: unfinished; `note` says what it waits for. */
  readonly state: 'started' | 'waiting' | 'done' | 'failed';
  /** Details for people. */
  readonly note?: string;
}

/** Messages of the background process to its parent. */
export type ServeMessage =
  | ProgressEvent
  | { readonly state: 'ready' }
  | { readonly state: 'error'; readonly message: string };

export type ProgressSink = (event: ProgressEvent) => void;

/** Runs a step, and reports its start and outcome. Rethrows failures. */
export async function step<T>(sink: ProgressSink, name: string, work: () => Promise<T>, note?: (result: T) => string) {
  sink({ step: name, state: 'started' });
  try {
    const result = await work();
    const text = note?.(result);
    sink({ step: name, state: 'done', ...(text === undefined ? {} : { note: text }) });
    return result;
  } catch (error) {
    sink({ step: name, state: 'failed' });
    throw error;
  }
}

export interface ProgressOutput {
  write(text: string): unknown;
  readonly isTTY?: boolean;
}

/** Prints one line per step, updated in place on a terminal. */
export function progressPrinter(output: ProgressOutput, clock: Clock): ProgressSink {
  const started = new Map<string, number>();
  const color = (code: number, text: string) => (output.isTTY === true ? `\u001b[${code}m${text}\u001b[0m` : text);
  return ({ step: name, state, note }) => {
    if (state === 'started') {
      started.set(name, clock.monotonic());
      if (output.isTTY === true) output.write(`  … ${name}`);
      return;
    }
    if (state === 'waiting') {
      const text = `  … ${name}: ${note ?? ''}`;
      output.write(output.isTTY === true ? `\r\u001b[2K${text}` : `${text}\n`);
      return;
    }
    const seconds = ((clock.monotonic() - (started.get(name) ?? clock.monotonic())) / 1000).toFixed(1);
    const mark = state === 'done' ? color(32, '✓') : color(31, '✗');
    const rest = note === undefined ? '' : color(2, ` (${note})`);
    const line = `  ${mark} ${name}${rest} ${color(2, `${seconds}s`)}\n`;
    output.write(output.isTTY === true ? `\r\u001b[2K${line}` : line);
  };
}
