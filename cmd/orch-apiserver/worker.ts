/** A thread of the API server that serves requests: see `WorkerPool`. */
import { runWorker } from '#cmd/orch-apiserver/run-worker.js';

await runWorker();
