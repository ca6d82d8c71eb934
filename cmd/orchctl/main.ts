import { setMaxListeners } from 'node:events';
import { realClock } from '#apimachinery/clock.js';
import { apply } from '#cmd/orchctl/commands/apply.js';
import { codec } from '#cmd/orchctl/commands/codec.js';
import type { Command } from '#cmd/orchctl/commands/command.js';
import { cordon, uncordon } from '#cmd/orchctl/commands/cordon.js';
import { create } from '#cmd/orchctl/commands/create.js';
import { deleteCommand } from '#cmd/orchctl/commands/delete.js';
import { describe } from '#cmd/orchctl/commands/describe.js';
import { drain } from '#cmd/orchctl/commands/drain.js';
import { attach, exec } from '#cmd/orchctl/commands/exec.js';
import { get } from '#cmd/orchctl/commands/get.js';
import { image } from '#cmd/orchctl/commands/image.js';
import { logs } from '#cmd/orchctl/commands/logs.js';
import { portForward } from '#cmd/orchctl/commands/port-forward.js';
import { proxy } from '#cmd/orchctl/commands/proxy.js';
import { rollout } from '#cmd/orchctl/commands/rollout.js';
import { scale } from '#cmd/orchctl/commands/scale.js';
import { apiResources, version } from '#cmd/orchctl/commands/server.js';
import { token } from '#cmd/orchctl/commands/token.js';
import { top } from '#cmd/orchctl/commands/top.js';
import { why } from '#cmd/orchctl/commands/why/why.js';
import { run } from '#cmd/orchctl/run.js';

const commands: readonly Command[] = [
  get,
  describe,
  why,
  apply,
  create,
  deleteCommand,
  scale,
  rollout,
  logs,
  exec,
  attach,
  portForward,
  proxy,
  image,
  codec,
  top,
  cordon,
  uncordon,
  drain,
  token,
  apiResources,
  version,
];

const stop = new AbortController();
// Every request under way listens to it.
setMaxListeners(0, stop.signal);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
// A reader that has gone away (`| head`) is no failure.
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
// Standard input, once listened to, would keep the process alive.
process.stdin.unref?.();
