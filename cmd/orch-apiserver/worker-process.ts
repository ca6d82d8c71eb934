/**
 * Workers of the API server as processes of Node.js's cluster module. All workers accept connections from one socket, so that no
 * connection waits for a stuck worker or passes through the supervisor.
 */
import cluster, { type Worker } from 'node:cluster';
import type { FromWorker, ToWorker, WorkerPlace } from '#apiserver/workers/messages.js';
import type { SpawnWorker, WorkerProcess } from '#apiserver/workers/supervisor.js';
import { apiServerWorkerProgram, type WorkerSetup } from '#cmd/orch-apiserver/program.js';
import type { GuardedProcess } from '#daemon/process/guarded-process.js';
import { type ProgramProcess, run } from '#daemon/run.js';

const placeVariable = 'APISERVER_WORKER';

/** Undefined if this process is not a worker. */
export function workerPlace(env: Readonly<Record<string, string | undefined>>): WorkerPlace | undefined {
  const text = env[placeVariable];
  return cluster.isWorker && text !== undefined ? (JSON.parse(text) as WorkerPlace) : undefined;
}

/** Starts workers, which run this program with the same command line. */
export function forkingWorkers(): SpawnWorker {
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  return (place) => workerProcess(cluster.fork({ [placeVariable]: JSON.stringify(place) }));
}

function workerProcess(worker: Worker): WorkerProcess {
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

/** Runs a worker until it ends. `paths`: handlers of further paths, for tests. Returns the exit code. */
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
  // Terminals and service managers signal all processes; only the supervisor acts on signals, and stops the workers.
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
