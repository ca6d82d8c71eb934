/**
 * Workers of the API server as processes of Node.js's cluster module. All accept connections of one socket themselves, so no
 * connection waits for a worker that is held, and none is lost with the supervisor's copy of it.
 */
import cluster, { type Worker } from 'node:cluster';
import type { FromWorker, ToWorker, WorkerPlace } from '#apiserver/workers/messages.js';
import type { SpawnWorker, WorkerProcess } from '#apiserver/workers/supervisor.js';
import { apiServerWorkerProgram, type WorkerSetup } from '#cmd/orch-apiserver/program.js';
import type { GuardedProcess } from '#daemon/process/guarded-process.js';
import { type ProgramProcess, run } from '#daemon/run.js';

const placeVariable = 'APISERVER_WORKER';

/** The place of this process among the workers; undefined in a process that is none. */
export function workerPlace(env: Readonly<Record<string, string | undefined>>): WorkerPlace | undefined {
  const text = env[placeVariable];
  return cluster.isWorker && text !== undefined ? (JSON.parse(text) as WorkerPlace) : undefined;
}

/** Starts workers: this program once more, with the same command line. */
export function forkingWorkers(): SpawnWorker {
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  return (place) => processOf(cluster.fork({ [placeVariable]: JSON.stringify(place) }));
}

function processOf(worker: Worker): WorkerProcess {
  return {
    pid: worker.process.pid ?? 0,
    send(message) {
      if (worker.isConnected()) worker.send(message, undefined, () => undefined);
    },
    onMessage: (listener) => worker.on('message', (message: FromWorker) => listener(message)),
    onExit: (listener) => worker.once('exit', (code: number | null) => listener(code)),
    kill: () => worker.process.kill('SIGKILL'),
  };
}

/** Runs a worker to its end. `paths`: answers at further paths, for tests. Returns the exit code. */
export function runWorker(
  guarded: GuardedProcess,
  place: WorkerPlace,
  paths: NonNullable<WorkerSetup['paths']> = {},
): Promise<number> {
  const stopping = new AbortController();
  const program = apiServerWorkerProgram(guarded, {
    place,
    channel: {
      send(message) {
        if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
      },
      onMessage: (listener) => void process.on('message', (message) => listener(message as ToWorker)),
    },
    stop: () => stopping.abort(),
    paths,
  });
  // Signals are for the supervisor, which says what they mean; a terminal or a service manager sends them to all.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => undefined);
  const worker: ProgramProcess = {
    ...guarded,
    on: (_signal, listener) => {
      if (stopping.signal.aborted) queueMicrotask(listener);
      else stopping.signal.addEventListener('abort', listener);
    },
    off: (_signal, listener) => stopping.signal.removeEventListener('abort', listener),
  };
  return run(program, worker);
}
