/** Records the refusals of release 1.24 for a command line. A program that accepts it is stopped at once. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { deferred } from '#apimachinery/async/deferred.js';
import type { DaemonName } from '#test/integration/daemons/flags/cases.js';

/** A daemon that logs one of these has accepted its command line: it looks for etcd, the API server or the runtime. */
const acceptances = {
  'kube-apiserver': /createTransport failed to connect/,
  'kube-controller-manager':
    /attempting to acquire leader lease|dial tcp 127\.0\.0\.1:1.*\/healthz|\/healthz.*dial tcp/,
  'kube-scheduler': /attempting to acquire leader lease|reflector.*dial tcp 127\.0\.0\.1:1/,
  kubelet: /validate service connection|container runtime is not running|unable to determine runtime API version/i,
} as const satisfies Readonly<Record<DaemonName, RegExp>>;
const patienceMs = 20_000;

/** The words of the refusal; undefined where the daemon starts. */
export async function refusalOf(
  daemon: DaemonName,
  program: string,
  args: readonly string[],
): Promise<string | undefined> {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let text = '';
  const { promise, resolve } = deferred<undefined>();
  const timer = setTimeout(() => child.kill('SIGKILL'), patienceMs);
  child.stderr.setEncoding('utf8').on('data', (part: string) => {
    text += part;
    if (acceptances[daemon].test(text)) resolve(undefined);
  });
  void once(child, 'close').then(() => resolve(undefined));
  await promise;
  clearTimeout(timer);
  await ended(child);
  return acceptances[daemon].test(text) ? undefined : wordsIn(text);
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, 'close');
  child.kill('SIGKILL');
  await closed;
}

/** `Error: …` of a flag that cannot be parsed; `"command failed" err="…"` of everything else. */
function wordsIn(text: string): string {
  const flag = /^Error: (.*)$/m.exec(text)?.[1];
  if (flag !== undefined) return flag;
  const failed = /"command failed" err=(".*")$/m.exec(text)?.[1];
  if (failed !== undefined) return unquoted(failed);
  const died = /^(?:panic: |F\d{4} .*?\] )(.*)$/m.exec(text)?.[1];
  if (died !== undefined) return died;
  return text.trim().split('\n').at(-1) ?? '';
}

function unquoted(text: string): string {
  return JSON.parse(text.replace(/\\x([0-9a-f]{2})/g, '\\u00$1').replace(/\\a/g, '\\u0007')) as string;
}

export const programVariables: Readonly<Record<DaemonName, string>> = {
  'kube-apiserver': 'PEER_APISERVER',
  'kube-controller-manager': 'PEER_CONTROLLER_MANAGER',
  'kube-scheduler': 'PEER_SCHEDULER',
  kubelet: 'PEER_NODE_AGENT',
};
