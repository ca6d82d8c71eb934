/** Sights of the lines that a program logs. */
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { programLog } from '#daemon/log/program-log.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import type { Sight } from '#nodeagent/testing/effects/effect.js';

function opened(values: NodeAgentOptions) {
  const written = { stdout: '', stderr: '' };
  const sink = (name: 'stdout' | 'stderr') => ({
    write(text: string) {
      written[name] += text;
    },
  });
  const clock = new VirtualClock();
  const streams = { pid: 7, stdout: sink('stdout'), stderr: sink('stderr') };
  return { written, clock, ...programLog('p', { values, given: new Set() }, streams, clock) };
}

/** What is written of one line of each level. */
export const logLines: Sight = (values) => {
  const { log, written, flush } = opened(values);
  log.debug('debug');
  log.info('info');
  log.error('error');
  flush();
  return written;
};

/** What is written of a line just before and after a time. */
export function waitingLine(ms: number): Sight {
  return async (values) => {
    const { log, written, clock } = opened(values);
    log.info('info');
    await clock.advance(ms - 1);
    const before = written.stdout + written.stderr;
    await clock.advance(1);
    return [before, written.stdout + written.stderr];
  };
}
