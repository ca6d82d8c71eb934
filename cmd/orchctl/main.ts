import { setMaxListeners } from 'node:events';
import { realClock } from '#apimachinery/clock.js';
import { commands } from '#cmd/orchctl/commands.js';
import { run } from '#cmd/orchctl/run.js';

const stop = new AbortController();
// Every request in flight listens to it.
setMaxListeners(0, stop.signal);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
// A reader that closes the pipe (`| head`) is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

process.exitCode = await run(commands, process.argv.slice(2), {
  stdin: process.stdin,
  out: process.stdout,
  err: process.stderr,
  env: process.env,
  clock: realClock,
  signal: stop.signal,
  onResize(fn) {
    process.stdout.on('resize', fn);
    return () => process.stdout.off('resize', fn);
  },
});
// Listening to standard input must not keep the process alive.
process.stdin.unref?.();
