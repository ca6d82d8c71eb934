/** A worker with a path that holds it for as many milliseconds as it is asked for. */
import { writeSync } from 'node:fs';
import { runWorker } from '#cmd/orch-apiserver/run-worker.js';

const standardError = 2;

await runWorker({
  '/planted/hold': async ({ info }) => {
    writeSync(standardError, 'holding\n');
    const end = performance.now() + Number(info.query.get('ms'));
    while (performance.now() < end);
    return { status: 200, headers: { 'content-type': 'text/plain' }, body: Buffer.from('held\n') };
  },
});
