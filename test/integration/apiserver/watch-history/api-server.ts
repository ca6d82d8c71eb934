/** API servers in processes of their own, which can be stopped and killed. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { SpecClient } from '#test/integration/apiserver/spec/spec-server.js';

export interface ServerProcess {
  readonly client: SpecClient;
  /** Stops it gracefully. Throws if its caches differed from etcd. */
  stop(): Promise<void>;
  /** Kills it without warning (SIGKILL). */
  kill(): Promise<void>;
}

/** Resolves once it responds. It ends with this process at the latest. */
export async function startServerProcess(endpoint: string): Promise<ServerProcess> {
  const child = fork(new URL('./api-server-process.js', import.meta.url), [endpoint]);
  const exited = once(child, 'exit');
  const port = await Promise.race([once(child, 'message'), exited.then(() => failed(child))]);
  const client = new SpecClient(Number(port[0]));
  return {
    client,
    async stop() {
      client.close();
      child.send('stop');
      await exited;
      if (child.exitCode !== 0) failed(child);
    },
    async kill() {
      client.close();
      child.kill('SIGKILL');
      await exited;
    },
  };
}

function failed({ exitCode, signalCode }: ChildProcess): never {
  throw new Error(`the API server's process ended with ${exitCode ?? signalCode}`);
}
